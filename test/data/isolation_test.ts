/**
 * Isolation, generated from the route table: every request is made in two worlds, one where another app has rows,
 * tables and values, and one where that app never was. Whatever is asked, both answer the same, and the other app's
 * rows stay as they are, byte for byte.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { routes } from "../../src/app.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import {
  type Answer,
  type Call,
  openTestHouse,
  type TestApp,
  type TestHouse,
} from "../support/house.ts";

const shared = {
  projects: { name: t.string().required().unique(), code: t.number().unique() },
  todos: t
    .model({
      title: t.string().required(),
      project: t.ref("projects", { onDelete: "cascade" }),
      pinned: t.ref("projects"),
      kind: t.enum(["a", "b"]).default("a"),
      note: t.json(),
    })
    .unique("project", "title"),
};
const mine = defineSchema(shared);
const theirs = defineSchema({ ...shared, secrets: { body: t.string().required() } });

/** Row ids: of mine alone, of both apps at once, and of the other app alone. */
const MINE = "00000000-0000-7000-8000-000000000001";
const BOTH = "00000000-0000-7000-8000-000000000002";
const THEIRS = "00000000-0000-7000-8000-000000000003";
const NOBODYS = "00000000-0000-7000-8000-000000000004";
const SECRET = "the other app's words";

type Ask = Call & { path: string };

/** A request that does its work, for each endpoint that a key opens. A new one without an entry here fails. */
const PLAIN: Readonly<Record<string, () => Ask>> = {
  "GET /v1/data/db/:table": () => ({ path: "/v1/data/db/todos" }),
  "POST /v1/data/db/:table": () => ({
    path: "/v1/data/db/todos",
    method: "POST",
    json: { title: crypto.randomUUID(), project: MINE },
  }),
  "GET /v1/data/db/:table/:id": () => ({ path: `/v1/data/db/todos/${MINE}` }),
  "PATCH /v1/data/db/:table/:id": () => ({
    path: `/v1/data/db/todos/${MINE}`,
    method: "PATCH",
    json: { note: { changed: true } },
  }),
  "DELETE /v1/data/db/:table/:id": () => ({
    path: `/v1/data/db/todos/${MINE}`,
    method: "DELETE",
  }),
  "GET /v1/data/schema": () => ({ path: "/v1/data/schema" }),
  "POST /v1/data/schema": () => ({
    path: "/v1/data/schema",
    method: "POST",
    json: { definition: { version: 1, tables: [] }, journal: [], dryRun: true },
  }),
};

type Attack = {
  name: string;
  suits: (ask: Ask) => boolean;
  change: (ask: Ask, other: TestApp) => Ask;
};

const hasRow = ({ path }: Ask) => /\/db\/[^/]+\/[^/]+$/.test(path);
const hasTable = ({ path }: Ask) => path.includes("/db/");
const hasFields = (ask: Ask) => hasTable(ask) && ask.json !== undefined;

function inPath(name: string, from: string | RegExp, to: string, suits = hasTable): Attack {
  return { name, suits, change: (ask) => ({ ...ask, path: ask.path.replace(from, to) }) };
}
function inBody(
  name: string,
  fields: (other: TestApp) => object,
  path?: (ask: Ask) => string,
): Attack {
  return {
    name,
    suits: hasFields,
    change: (ask, other) => ({
      ...ask,
      path: path?.(ask) ?? ask.path,
      json: { ...(ask.json as object), ...fields(other) },
    }),
  };
}
function inHeaders(name: string, headers: (other: TestApp) => Record<string, string>): Attack {
  return { name, suits: () => true, change: (ask, other) => ({ ...ask, headers: headers(other) }) };
}
function inQuery(name: string, query: (other: TestApp) => string): Attack {
  return {
    name,
    suits: () => true,
    change: (ask, other) => ({ ...ask, path: `${ask.path}?${query(other)}` }),
  };
}
const toProject = (ask: Ask) => ask.path.replace("todos", "projects");

const ATTACKS: readonly Attack[] = [
  { name: "nothing forged", suits: () => true, change: (ask) => ask },
  inPath("another app's row", MINE, THEIRS, hasRow),
  inPath("an id that both apps have", MINE, BOTH, hasRow),
  inPath("another app's parent row", `todos/${MINE}`, `projects/${THEIRS}`, hasRow),
  inPath("a parent id whose other owner has children", `todos/${MINE}`, `projects/${BOTH}`, hasRow),
  inPath("nobody's row", MINE, NOBODYS, hasRow),
  inPath("another app's table", "todos", "secrets"),
  inPath("a reserved table", "todos", "users"),
  inPath("a table of the service", "todos", "api_keys"),
  inPath("a schema in the table", "todos", "data.todos"),
  inPath("an encoded table", "todos", "%73ecrets"),
  inBody("a reference to another app's row", () => ({ project: THEIRS })),
  inBody("a second reference to another app's row", () => ({ pinned: THEIRS })),
  inBody("a reference to an id that both have", () => ({ project: BOTH, title: "again" })),
  inBody("another app's value of a unique", () => ({ name: SECRET }), toProject),
  inBody(
    "another app's number of a unique",
    () => ({ name: crypto.randomUUID(), code: 77 }),
    toProject,
  ),
  inBody("my own value of a unique", () => ({ name: "mine" }), toProject),
  inBody("another app's pair of a unique", () => ({ title: SECRET, project: BOTH })),
  inBody("another app's id as the row's", () => ({ id: THEIRS })),
  inBody("another app as the row's", (other) => ({ app_id: other.id })),
  inBody("both", (other) => ({ id: THEIRS, app_id: other.id, "rowhouse.app_id": other.id })),
  inBody("only id and app_id", (other) => ({
    id: THEIRS,
    app_id: other.id,
    title: undefined,
    project: undefined,
    note: undefined,
  })),
  inBody("a faulty value", () => ({ kind: "c", title: 1 })),
  inHeaders("X-App-Id", (other) => ({
    "x-app-id": other.id,
    "x-app": other.slug,
    "app-id": other.id,
  })),
  inHeaders("internal headers", (other) => ({
    "x-rowhouse-app-id": other.id,
    "x-rowhouse-principal": JSON.stringify({
      appId: other.id,
      scopes: ["data:read", "data:write"],
    }),
    "x-rowhouse-signature": "v1",
    "rowhouse.app_id": other.id,
  })),
  inHeaders("forwarding headers", (other) => ({
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": `${other.slug}.example.org`,
    "x-forwarded-prefix": `/${other.slug}`,
    "x-original-url": "/v1/data/db/secrets",
    "x-rewrite-url": "/v1/data/db/secrets",
    forwarded: `for=127.0.0.1;host=${other.slug}.example.org`,
  })),
  inHeaders("cookies", (other) => ({
    cookie: `authorization=Bearer ${other.key}; app_id=${other.id}; __Secure-rowhouse_session=${other.key}`,
  })),
  inHeaders("a method override", () => ({
    "x-http-method-override": "DELETE",
    "x-http-method": "DELETE",
  })),
  inHeaders("another app's key beside mine", (other) => ({
    "x-api-key": other.key,
    "api-key": other.key,
    apikey: other.key,
  })),
  inQuery("another app's key in the query", (other) => `api_key=${other.key}`),
  inQuery("a token in the query", (other) => `access_token=${other.key}&limit=1`),
  inQuery("an app in the query", (other) => `app_id=${other.id}`),
  inQuery("a filter by app", (other) => `app_id=eq.${other.id}`),
  inQuery("a select of everything", () => "select=*,secrets(*)"),
  inQuery("a setting in the query", (other) => `rowhouse.app_id=${other.id}`),
];

type World = { house: TestHouse; app: TestApp; other: TestApp | undefined };

async function seed(
  house: TestHouse,
  app: TestApp,
  own: string,
  words: string,
  code: number,
): Promise<void> {
  await house.house.admin.message(`
insert into data.projects (app_id, id, name, code) values
  ('${app.id}', '${own}', '${words}', ${code}), ('${app.id}', '${BOTH}', '${words} twice', null);
insert into data.todos (app_id, id, title, project, kind, note) values
  ('${app.id}', '${own}', '${words}', '${own}', 'a', '{"a":1}'),
  ('${app.id}', '${BOTH}', '${words}', '${BOTH}', 'b', null) returning id`);
}

async function openWorld(
  login: "least" | "superuser",
  options: { crowded: boolean },
): Promise<World> {
  const house = await openTestHouse({ login });
  const app = await house.makeApp(mine);
  if (!options.crowded) return { house, app, other: undefined };
  const other = await house.makeApp(theirs);
  await seed(house, other, THEIRS, "the other app''s words", 77);
  await house.call(other, "/v1/data/db/secrets", { method: "POST", json: { body: SECRET } });
  return { house, app, other };
}

async function resetMine({ house, app }: World): Promise<void> {
  await house.house.admin.message(`delete from data.todos where app_id = '${app.id}';
delete from data.projects where app_id = '${app.id}' returning id`);
  await seed(house, app, MINE, "mine", 5);
}

/** Everything that the other app has, as text. */
async function readTheirs({ house, other }: World): Promise<string> {
  const rows = await house.house.admin.query<{ text: string }>(
    `select concat(
      (select json_agg(row_to_json(p) order by id)::text from data.projects p where app_id = $1::uuid),
      (select json_agg(row_to_json(p) order by id)::text from data.todos p where app_id = $1::uuid),
      (select json_agg(row_to_json(p) order by id)::text from data.secrets p where app_id = $1::uuid),
      (select json_agg(definition order by table_name)::text from rowhouse.registrations where app_id = $1::uuid)) as text`,
    [other?.id ?? null],
    { effect: "read" },
  );
  return rows[0]?.text ?? "";
}

/** An answer without what no two answers share: the request's id, the app's own id, a created row's id, the clock. */
function toComparable(answer: Answer, app: TestApp): unknown {
  const json = answer.json as { id?: string; requestId?: string } | undefined;
  const fresh = answer.status === 201 ? (json?.id ?? "") : "no fresh id";
  const mask = (text: string) =>
    text
      .replaceAll(app.id, "<app>")
      .replaceAll(app.slug, "<slug>")
      .replaceAll(json?.requestId ?? "no request id", "<request>")
      .replaceAll(fresh, "<fresh>")
      .replace(/01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<fresh>")
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<random>")
      .replace(/sha256:[0-9a-f]{64}/g, "<checksum>");
  const headers = [...answer.headers]
    .filter(([name]) => !VARYING.includes(name))
    .map(([name, value]) => [name, mask(value)]);
  return { status: answer.status, headers, text: mask(answer.text) };
}

/** Headers that differ between any two requests of one app: `ratelimit` counts its own. */
const VARYING = ["date", "x-request-id", "content-length", "ratelimit"];

const endpoints = routes
  .filter((route) => route.access.kind === "key")
  .map((route) => `${route.method} ${route.path}`);

test("every endpoint that a key opens stands in the matrix", () => {
  expect(Object.keys(PLAIN).sort()).toEqual([...endpoints].sort());
});

for (const login of ["least", "superuser"] as const) {
  describe(`isolation, served by the ${login} login`, () => {
    let alone: World;
    let crowded: World;
    let before: string;
    beforeAll(async () => {
      [alone, crowded] = await Promise.all([
        openWorld(login, { crowded: false }),
        openWorld(login, { crowded: true }),
      ]);
      before = await readTheirs(crowded);
    });
    afterAll(async () => void (await Promise.all([alone.house.close(), crowded.house.close()])));

    test.each(endpoints)("%s answers as if there were no other app", async (endpoint) => {
      const other = crowded.other;
      if (other === undefined) throw new Error("The crowded world lacks its other app");
      for (const attack of ATTACKS) {
        const plain = PLAIN[endpoint]?.();
        if (plain === undefined || !attack.suits(plain)) continue;
        await Promise.all([resetMine(alone), resetMine(crowded)]);
        const { path, ...call } = attack.change(plain, other);
        const answers = await Promise.all(
          [alone, crowded].map(async ({ house, app }) =>
            toComparable(await house.call(app, path, call), app),
          ),
        );
        const lists = await Promise.all(
          [alone, crowded].map(async ({ house, app }) =>
            toComparable(await house.call(app, "/v1/data/db/todos"), app),
          ),
        );
        expect({ attack: attack.name, answer: answers[1], after: lists[1] }).toEqual({
          attack: attack.name,
          answer: answers[0],
          after: lists[0],
        });
        expect(JSON.stringify([answers[1], lists[1]])).not.toContain(SECRET.replace("'", "\\'"));
        const theirsNow = await readTheirs(crowded);
        if (theirsNow !== before) throw new Error(`"${attack.name}" changed the other app's rows`);
      }
    });
  });
}
