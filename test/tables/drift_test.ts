import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { compareFacts, readDrift } from "../../src/tables/mod.ts";
import { byHand, citusUrl } from "../support/citus.ts";
import { signatureOf } from "../support/functions.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";
import { casesHere } from "../support/skip.ts";

const SCHEMA = defineSchema({
  projects: {
    number: t.number().unique(),
    name: t.string().required().unique().default("it's a \\ \r\n $rowhouse$ name"),
  },
  todos: t
    .model({
      title: t.string().required().index(),
      status: t.enum(["open", "it's", 'q"uote']).required().default("it's"),
      project: t.ref("projects", { onDelete: "cascade" }),
      parent: t.ref("todos"),
      // Citus has no such reference.
      origin: t.ref("projects", citusUrl() === undefined ? { onDelete: "set null" } : {}),
      position: t.number().default(1e21),
      small: t.number().default(-1.5e-7),
      hours: t.decimal().default("-007.50"),
      done: t.boolean().default(false),
      key: t.uuid().default("0190A0B0-0000-7000-8000-000000000000"),
      list: t.json().default({ b: ["'", { a: null }], a: 1.5 }),
      due: t.timestamp().default("2026-01-02T03:04:05.120+02:00"),
      noted: t.timestamp().required().default("now").onUpdate("now"),
      count: t.integer().default(-9007199254740991),
      few: t.integer().default(5),
      day: t.date().default("2026-01-31"),
      made: t.date().required().default("today"),
      select: t.string().default(""),
      ["a".repeat(63)]: t.enum(["x"]),
    })
    .index("status", "due")
    .unique("project", "title"),
});
const service = await share(openTestService({ service: UNGUARDED }));
await service.makeApp(SCHEMA);

test("there is no drift after a push", async () => {
  expect(await readDrift(service.service.admin)).toEqual([]);
});

const [GET, LIST, DELETE] = (["get", "list", "delete"] as const).map((endpoint) =>
  signatureOf(SCHEMA, "todos", endpoint),
);
const NAME = "todos__status__due__sorted_idx";
const [KEY, TEXT] = ["projects__name__search_key", "todos__title__search_idx"];
/** Drops an index and builds it as a push did. */
const rebuild = async (name: string, isThere = true) => {
  const rows = await service.query<{ text: string }>(
    `select pg_get_indexdef('data.${name}'::regclass) as text`,
  );
  return `${isThere ? `drop index data.${name}; ` : ""}${rows[0]?.text}`;
};
const [NAME_GONE, KEY_GONE, NAME_BACK, KEY_BACK, TEXT_BACK] = [
  ...[await rebuild(NAME, false), await rebuild(KEY, false)],
  ...[await rebuild(NAME), await rebuild(KEY), await rebuild(TEXT)],
] as const;
const replaceOrigin = (effect: string) =>
  `alter table data.todos drop constraint todos__origin__fkey; alter table data.todos add constraint todos__origin__fkey foreign key (app_id, origin) references data.projects (app_id, id) ${effect}`;
/** `isOnePostgres` excludes a case from Citus, which rejects its statement. */
type Case = { name: string; by: string; undo: string; things: string[]; isOnePostgres?: true };
const ALL_CASES: Case[] = [
  {
    name: "a column dropped",
    by: "alter table data.todos drop column done",
    undo: "alter table data.todos add column done bool default false",
    things: ["table todos / column done"],
  },
  {
    name: "a column added",
    by: "alter table data.todos add column extra text",
    undo: "alter table data.todos drop column extra",
    things: ["table todos / column extra"],
  },
  {
    name: "another type",
    by: "alter table data.todos alter column noted type timestamptz(3)",
    undo: "alter table data.todos alter column noted type timestamptz",
    things: ["table todos / column noted / type"],
  },
  {
    name: "another default",
    by: "alter table data.todos alter column hours set default 8",
    undo: "alter table data.todos alter column hours set default -7.5",
    things: ["table todos / column hours / default"],
  },
  {
    name: "a default dropped",
    by: "alter table data.todos alter column noted drop default",
    undo: "alter table data.todos alter column noted set default now()",
    things: ["table todos / column noted / default"],
  },
  {
    name: "another default of a json",
    by: `alter table data.todos alter column list set default '{"a":1}'`,
    undo: `alter table data.todos alter column list set default '{"a":1.5,"b":["''",{"a":null}]}'`,
    things: ["table todos / column list / default"],
  },
  {
    name: "not null dropped",
    by: "alter table data.todos alter column title drop not null",
    undo: "alter table data.todos alter column title set not null",
    things: ["table todos / column title / required"],
  },
  {
    name: "a unique dropped",
    by: `drop index data.${KEY}`,
    undo: KEY_GONE,
    things: [`table projects / index ${KEY}`],
  },
  {
    name: "a unique on prefixes of texts",
    by: `drop index data.${KEY}; create unique index ${KEY} on data.projects (app_id, left(name, 600))`,
    undo: KEY_BACK,
    things: [`table projects / index ${KEY}`],
  },
  {
    name: "an index on full texts",
    by: `drop index data.${TEXT}; create index ${TEXT} on data.todos (app_id, title)`,
    undo: TEXT_BACK,
    things: [`table todos / index ${TEXT}`],
  },
  {
    name: "a unique as a constraint, on all rows",
    by: "drop index data.projects__number__key; alter table data.projects add constraint projects__number__key unique (app_id, number)",
    undo: "alter table data.projects drop constraint projects__number__key; create unique index projects__number__key on data.projects (app_id, number) where number is not null",
    things: [
      "table projects / constraint projects__number__key",
      "table projects / index projects__number__key",
    ],
  },
  {
    name: "a unique without the app",
    by: "alter table data.projects add constraint other unique (name)",
    undo: "alter table data.projects drop constraint other",
    things: ["table projects / constraint other"],
    isOnePostgres: true,
  },
  {
    name: "a reference without cascade",
    by: "alter table data.todos drop constraint todos__project__fkey; alter table data.todos add constraint todos__project__fkey foreign key (app_id, project) references data.projects (app_id, id)",
    undo: "alter table data.todos drop constraint todos__project__fkey; alter table data.todos add constraint todos__project__fkey foreign key (app_id, project) references data.projects (app_id, id) on delete cascade",
    things: ["table todos / constraint todos__project__fkey"],
  },
  ...["", "set null", "set null (app_id)", "cascade"].map(
    (effect): Case => ({
      name: `a reference with another effect of a delete: ${effect || "none"}`,
      by: replaceOrigin(effect && `on delete ${effect}`),
      undo: replaceOrigin("on delete set null (origin)"),
      things: ["table todos / constraint todos__origin__fkey"],
      isOnePostgres: true,
    }),
  ),
  {
    name: "a check added",
    by: "alter table data.todos add constraint sane check (title <> '')",
    undo: "alter table data.todos drop constraint sane",
    things: ["table todos / constraint sane"],
  },
  {
    name: "an index dropped",
    by: `drop index data.${NAME}`,
    undo: NAME_GONE,
    things: [`table todos / index ${NAME}`],
  },
  {
    name: "an index on all rows",
    by: `drop index data.${NAME}; create index ${NAME} on data.todos (app_id, status, due)`,
    undo: NAME_BACK,
    things: [`table todos / index ${NAME}`],
  },
  {
    name: "an index on other columns",
    by: `drop index data.${NAME}; create index ${NAME} on data.todos (app_id, due)`,
    undo: NAME_BACK,
    things: [`table todos / index ${NAME}`],
  },
  {
    name: "an invalid index",
    by: `update pg_index set indisvalid = false where indexrelid = 'data.${NAME}'::regclass`,
    undo: `update pg_index set indisvalid = true where indexrelid = 'data.${NAME}'::regclass`,
    things: [`table todos / index ${NAME}`],
  },
  {
    name: "disabled row security",
    by: "alter table data.todos disable row level security",
    undo: "alter table data.todos enable row level security",
    things: ["table todos / row security"],
  },
  {
    name: "unforced row security",
    by: "alter table data.todos no force row level security",
    undo: "alter table data.todos force row level security",
    things: ["table todos / row security"],
  },
  {
    name: "a policy dropped",
    by: "drop policy tenant on data.todos",
    undo: "create policy tenant on data.todos for all to public using (app_id = nullif(current_setting('rowhouse.app_id', true), '')::uuid) with check (app_id = nullif(current_setting('rowhouse.app_id', true), '')::uuid)",
    things: ["table todos / policy tenant"],
  },
  {
    name: "a policy for everything",
    by: "create policy everything on data.todos using (true)",
    undo: "drop policy everything on data.todos",
    things: ["table todos / policy everything"],
  },
  {
    name: "a weaker policy",
    by: "alter policy tenant on data.todos using (true)",
    undo: "alter policy tenant on data.todos using (app_id = nullif(current_setting('rowhouse.app_id', true), '')::uuid)",
    things: ["table todos / policy tenant"],
  },
  {
    name: "a grant to public",
    by: "grant select on data.todos to public",
    undo: "revoke select on data.todos from public",
    things: ["table todos / grants to public"],
  },
  {
    name: "a grant to the service",
    by: "grant select on data.todos to rowhouse_service",
    undo: "revoke select on data.todos from rowhouse_service",
    things: ["table todos / grants to rowhouse_service"],
  },
  {
    name: "a grant on a column",
    by: "grant select (title) on data.todos to public",
    undo: "revoke select (title) on data.todos from public",
    things: ["table todos / grants on column title to public"],
  },
  {
    name: "a grant revoked",
    by: "revoke delete on data.todos from rowhouse_tenant",
    undo: "grant delete on data.todos to rowhouse_tenant",
    things: ["table todos / grants to rowhouse_tenant"],
  },
  {
    name: "another owner of a table",
    by: "alter table data.todos owner to postgres",
    undo: "alter table data.todos owner to rowhouse_tables",
    things: ["table todos / owner"],
  },
  {
    name: "a trigger",
    by: "create trigger mine before update on data.todos for each row execute function suppress_redundant_updates_trigger()",
    undo: "drop trigger mine on data.todos",
    things: ["table todos / trigger mine"],
    isOnePostgres: true,
  },
  {
    name: "a foreign table",
    by: "create table data.mine (x int)",
    undo: "drop table data.mine",
    things: ["table mine"],
  },
  {
    name: "an enum value",
    by: "alter type data.todos__status__enum add value 'more'",
    undo: "",
    things: ["type todos__status__enum"],
  },
  {
    name: "a function that public can execute",
    by: `grant execute on function api.${GET} to public`,
    undo: `revoke execute on function api.${GET} from public`,
    things: [`function ${GET} / executed by public`],
  },
  {
    name: "a function that the service cannot run",
    by: `revoke execute on function api.${GET} from rowhouse_service`,
    undo: `grant execute on function api.${GET} to rowhouse_service`,
    things: [`function ${GET} / executed by rowhouse_service`],
  },
  {
    name: "a function of another owner",
    by: `alter function api.${GET} owner to postgres`,
    undo: `alter function api.${GET} owner to rowhouse_tenant`,
    things: [`function ${GET} / owner`],
  },
  {
    name: "a function that runs with its caller's rights",
    by: `alter function api.${GET} security invoker`,
    undo: `alter function api.${GET} security definer`,
    things: [`function ${GET} / security`],
  },
  {
    name: "a function with a setting",
    by: `alter function api.${GET} set search_path = public`,
    undo: `alter function api.${GET} reset all`,
    things: [`function ${GET} / settings`],
  },
  {
    name: "a foreign function",
    by: "create function api.mine() returns int language sql as 'select 1'",
    undo: "drop function api.mine()",
    things: ["function mine()"],
  },
  {
    name: "another body",
    by: `create or replace function api.${DELETE} returns text language plpgsql security definer as 'begin return null; end'`,
    undo: "",
    things: [`function ${DELETE} / body`],
  },
  {
    name: "a function dropped",
    by: `drop function api.${LIST}`,
    undo: "",
    things: [`function ${LIST}`],
  },
];

const CASES = casesHere(ALL_CASES);

test("drift names exactly the objects that were changed manually", async () => {
  const { admin } = service.service;
  const known: string[] = [];
  const change = (text: string) => admin.message(byHand(...text.split(/; (?=drop|create|alter)/)));
  for (const { name, by, undo, things } of CASES) {
    await change(by);
    const found = (await readDrift(admin)).map(({ thing }) => thing);
    expect([name, found]).toEqual([name, [...known, ...things].sort()]);
    if (undo === "") known.push(...things);
    else await change(undo);
  }
});

test("compareFacts() lists the expected and the actual value of each difference", () => {
  const wanted = new Map([
    ["table a", "there"],
    ["table a / column x", "there"],
    ["table b", "there"],
    ["table b / owner", "one"],
  ]);
  const found = new Map([
    ["table b", "there"],
    ["table b / owner", "two"],
    ["table c", "there"],
    ["table c / column y", "there"],
  ]);
  expect(compareFacts(wanted, found)).toEqual([
    { thing: "table a", wanted: "there", found: "nothing" },
    { thing: "table b / owner", wanted: "one", found: "two" },
    { thing: "table c", wanted: "nothing", found: "there" },
  ]);
});
