/** Two apps with the same tables and different rules, and people with keys: the basis of the attacks on rules by person. @module */
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, type Person, signInAs } from "./people.ts";
import { getPersonKey, openToBrowsers } from "./person_keys.ts";
import {
  type Call,
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
  type TestServiceOptions,
} from "./service.ts";

export const WIKI_ORIGIN = "https://wiki.example.org";
export const BLOG_ORIGIN = "https://blog.example.org";

const todos = () => ({
  title: t.string().required(),
  status: t.enum(["open", "done", "approved"]).required().default("open"),
  team: t.ref("teams"),
  project: t.ref("projects"),
  code: t.string(),
  tag: t.string().unique(),
  note: t.json(),
});

/** The rules of the design's example, with a table for each way to reach another one. */
export const wikiSchema = defineSchema(wikiTables(true));
/** The same rules, except that only leads see when a todo was noted. */
export const narrowSchema = defineSchema(wikiTables(false));

function wikiTables(isOpen: boolean) {
  const notedAt = t.timestamp().required().default("now");
  return {
    teams: t
      .model({ name: t.string().required() })
      .allow("member", { read: { id: "me" } })
      .allow("lead", { read: true, create: true })
      .allow("admin", { read: true, create: true, update: true }),
    team_members: t
      .model({
        person: t.uuid().required(),
        team: t.ref("teams").required(),
        level: t.enum(["member", "lead"]).required().default("member"),
      })
      .index("person", "team")
      .unique("person", "team")
      .allow("member", { read: { person: "me" } })
      .allow("admin", { read: true, create: true, delete: true }),
    projects: t
      .model({
        name: t.string().required(),
        owner: t.uuid().required().owner(),
        secret_note: t.string().only("admin"),
      })
      .index("owner", "id")
      .allow("member", {
        read: { owner: "me" },
        create: true,
        update: { owner: "me" },
        delete: { owner: "me" },
      })
      .allow("admin", "everything"),
    todos: t
      .model({
        ...todos(),
        owner: t.uuid().required().owner(),
        noted_at: isOpen ? notedAt : notedAt.only("lead", "admin"),
        cost: t.decimal().only("lead", "admin"),
        approved_by: t.string().setBy("lead", "admin"),
      })
      .index("owner", "id")
      .index("team", "id")
      .index("noted_at", "id")
      .index("owner", "noted_at", "id")
      .unique("owner", "code")
      .allow("viewer", { read: { status: ["done", "approved"] } })
      .allow("clerk", { create: { status: "open" } })
      .allow("member", {
        read: [{ owner: "me" }, { team: { memberOf: "team_members" } }],
        create: { status: "open" },
        update: { owner: "me", status: ["open", "done"] },
        delete: { owner: "me", status: "open" },
      })
      .allow("lead", { read: true, create: true, update: true })
      .allow("admin", "everything"),
    comments: t
      .model({
        todo: t.ref("todos", { onDelete: "cascade" }).required(),
        text: t.string().required(),
        author: t.uuid().required().owner(),
      })
      .index("author", "id")
      .allow("member", {
        read: { todo: { readable: true } },
        create: { todo: { readable: true } },
        update: { author: "me" },
        delete: true,
      })
      .allow("admin", "everything"),
    // Without a rule: closed for people.
    ledgers: t.model({ amount: t.decimal(), todo: t.ref("todos") }),
  };
}

/** The same tables, with everything allowed for members. */
export const looseSchema = defineSchema({
  teams: t.model({ name: t.string().required() }).allow("member", "everything"),
  team_members: t
    .model({
      person: t.uuid().required(),
      team: t.ref("teams").required(),
      level: t.enum(["member", "lead"]).required().default("member"),
    })
    .index("person", "team")
    .unique("person", "team")
    .allow("member", "everything"),
  projects: t
    .model({ name: t.string().required(), owner: t.uuid().required(), secret_note: t.string() })
    .allow("member", "everything"),
  todos: t
    .model({
      ...todos(),
      owner: t.uuid().required(),
      noted_at: t.timestamp().required().default("now"),
      cost: t.decimal(),
      approved_by: t.string(),
    })
    .unique("owner", "code")
    .allow("member", "everything"),
  comments: t
    .model({
      todo: t.ref("todos", { onDelete: "cascade" }).required(),
      text: t.string().required(),
      author: t.uuid().required(),
    })
    .allow("member", "everything"),
});

export type Row = Record<string, unknown> & { id: string };
export type Member = Person & { readonly key: string };

export type PersonWorld = {
  readonly service: TestService;
  readonly wiki: TestApp;
  readonly blog: TestApp;
  /** Two members, and one person of each other role; Grace is an administrator of the Console. */
  readonly ada: Member;
  readonly bob: Member;
  readonly vera: Member;
  readonly lena: Member;
  readonly carl: Member;
  readonly grace: Member;
  /** Sends a request as a person, or as the app's server. */
  readonly send: (by: Member | TestApp, path: string, call?: Call) => Promise<TestResponse>;
  readonly post: (
    by: Member | TestApp,
    table: string,
    json: unknown,
    headers?: Headers,
  ) => Promise<TestResponse>;
  readonly patch: (
    by: Member | TestApp,
    path: string,
    json: unknown,
    headers?: Headers,
  ) => Promise<TestResponse>;
  readonly remove: (by: Member | TestApp, path: string, headers?: Headers) => Promise<TestResponse>;
  readonly close: () => Promise<void>;
};
type Headers = Record<string, string>;

export const PREVIEWS = ["filters", "live", "browser"] as const;
export const MISSING = "01a1fcb7-79f1-7334-aac2-0153dae4732a";
export const path = (table: string, rest = "") => `/v1/data/db/${table}${rest}`;
export const rowsOf = ({ json, text }: TestResponse): Row[] => {
  const { rows } = Object(json) as { rows?: Row[] };
  if (rows === undefined) throw new Error(`Not a list: ${text}`);
  return rows;
};
export const rowOf = ({ json }: TestResponse): Row => json as Row;

export async function openPersonWorld(options: TestServiceOptions = {}): Promise<PersonWorld> {
  const service = await openTestService({
    ...options,
    service: { previews: [...PREVIEWS], ...options.service },
  });
  const open = async (schema: unknown, origin: string) => {
    const app = await service.makeApp(schema, { origins: [origin] });
    await openToBrowsers(service, app);
    return app;
  };
  const wiki = await open(wikiSchema, WIKI_ORIGIN);
  const blog = await open(looseSchema, BLOG_ORIGIN);
  // The exchange knows the origins only after the next check for changed apps.
  await service.service.warm();
  const send = (by: Member | TestApp, at: string, call: Call = {}) =>
    service.call(undefined, at, { ...call, key: by.key });
  return {
    ...{ service, wiki, blog, send },
    ada: await enter({ service, wiki }, "member"),
    bob: await enter({ service, wiki }, "member"),
    vera: await enter({ service, wiki }, "viewer"),
    lena: await enter({ service, wiki }, "lead"),
    carl: await enter({ service, wiki }, "clerk"),
    grace: await enter({ service, wiki }),
    post: (by, table, json, headers = {}) =>
      send(by, path(table), { method: "POST", json, headers }),
    patch: (by, at, json, headers = {}) => send(by, at, { method: "PATCH", json, headers }),
    remove: (by, at, headers = {}) => send(by, at, { method: "DELETE", headers }),
    close: () => service.close(),
  };
}

/** A signed-in person with a key of the wiki; without a role on it, an administrator of the Console. */
export async function enter(
  { service, wiki }: Pick<PersonWorld, "service" | "wiki">,
  role?: string,
): Promise<Member> {
  const person = await makePerson(
    service,
    role === undefined ? { consoleRole: "admin" } : { app: wiki, role },
  );
  return { ...person, key: await renewKey({ service, wiki }, person) };
}

/** A new key of a person, of a new session. */
export async function renewKey(
  { service, wiki }: Pick<PersonWorld, "service" | "wiki">,
  person: Person,
): Promise<string> {
  const cookies = await signInAs(service, person);
  const { key } = await getPersonKey(service, { cookies, app: wiki, origin: WIKI_ORIGIN });
  service.secrets.add(key);
  return key;
}

/** Two rejections that a caller cannot tell apart. */
export function isSame(a: TestResponse, b: TestResponse): boolean {
  const [one, other] = [a, b].map(({ status, text }) =>
    `${status} ${text}`.replace(/"requestId":"[^"]+"/, ""),
  );
  return one === other;
}

export function detailsOf({ json }: TestResponse): string[] {
  const { details = [] } = Object(json) as { details?: { path: string }[] };
  return details.map((detail) => detail.path);
}
