/**
 * The isolation matrix, generated from the route table. Sends every request in two worlds: in one, another app has rows,
 * tables and values; in the other, that app never existed. Both worlds return the same response, and the other app's rows
 * do not change. Runs on any two services.
 *
 * @module
 */
import { expect } from "bun:test";
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import type { Preview } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { docs, routes } from "../../src/service/routes.ts";
import { citusUrl } from "./citus.ts";
import { openEvents } from "./event_stream.ts";
import { makeHistory } from "./history.ts";
import { fillPath } from "./samples/routes.ts";
import type { Call, TestApp, TestResponse, TestService } from "./service.ts";

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

/** Row ids: only in my app, in both apps, only in the other app, in no app. */
const MINE = "00000000-0000-7000-8000-000000000001";
const BOTH = "00000000-0000-7000-8000-000000000002";
const THEIRS = "00000000-0000-7000-8000-000000000003";
const NO_ROW = "00000000-0000-7000-8000-000000000004";
const SECRET = "the other app's words";
/** The history of a project that only has its own tables. */
const HISTORY = makeHistory([mine]);

type Ask = Call & { path: string };

const NO_TABLES = { version: 1, tables: [] };
const DEFINE = { kind: "define", definition: NO_TABLES };
const newTodo = () => ({ title: crypto.randomUUID(), project: MINE });

/** Valid bodies of each endpoint that has one. The matrix fails for an endpoint without an entry. */
const BODIES: Readonly<Record<string, readonly (() => unknown)[]>> = {
  "POST /v1/data/db/:table": [newTodo, () => [newTodo(), newTodo()]],
  "PATCH /v1/data/db/:table": [
    () => [{ id: MINE, note: { changed: true } }],
    () => [{ id: BOTH, note: 1 }, { id: MINE }],
  ],
  "PATCH /v1/data/db/:table/:id": [() => ({ note: { changed: true } })],
  "POST /v1/data/schema": [
    () => ({ steps: [DEFINE], journal: [], dryRun: true }),
    () => ({
      // If the isolation failed, the other app's declaration of the column would block this change.
      steps: [
        {
          kind: "change",
          change: { kind: "rename_column", table: "todos", column: "heading", to: "title" },
        },
      ],
      dryRun: true,
    }),
    () => ({
      steps: [{ ...DEFINE, kind: "join", declared: NO_TABLES, migrations: HISTORY }],
      dryRun: true,
    }),
    () => ({
      steps: [...HISTORY.map((text) => ({ kind: "migration", text, followed: true })), DEFINE],
      dryRun: true,
    }),
  ],
};

/** Returns valid requests of an endpoint, one for each body. */
function makeRequests(endpoint: string): (() => Ask)[] {
  const [method = "", template = ""] = endpoint.split(" ");
  const path = fillPath(template, { table: "todos", id: MINE, seq: "1" });
  if (method === "GET") return [() => ({ path })];
  if (method === "DELETE") return [() => ({ path, method })];
  const bodies = BODIES[endpoint];
  if (bodies === undefined)
    throw new Error(`${endpoint}: add a valid body to BODIES in test/support/isolation.ts`);
  return bodies.map((makeBody) => () => ({ path, method, json: makeBody() }));
}

type Attack = {
  name: string;
  suits: (ask: Ask) => boolean;
  change: (ask: Ask, other: TestApp) => Ask;
};

const isStream = (path: string) => path.split("?")[0]?.endsWith("/changes") === true;
const hasRow = ({ path }: Ask) => /\/db\/[^/]+\/[^/]+$/.test(path);
const hasTable = ({ path }: Ask) => /\/(db|tables)\//.test(path);
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
      json: withFields(ask.json, fields(other)),
    }),
  };
}
/** Adds fields to a body. In a batch, the last row gets them. */
function withFields(json: unknown, fields: object): unknown {
  if (!Array.isArray(json)) return { ...(json as object), ...fields };
  return json.with(-1, { ...(json.at(-1) as object), ...fields });
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
/** In the query of a list, with a count of the matching rows. */
function inList(name: string, query: (other: TestApp) => string): Attack {
  return {
    name,
    suits: ({ path, method = "GET" }) => method === "GET" && /\/db\/[^/]+$/.test(path),
    change: (ask, other) => ({
      ...ask,
      path: `${ask.path}?${query(other)}`,
      headers: { prefer: "count=exact" },
    }),
  };
}

/** In the conditions of an update or a delete. */
function inWrite(name: string, query: () => string): Attack {
  return {
    name,
    suits: ({ path, method = "" }) =>
      ["PATCH", "DELETE"].includes(method) && /\/db\/[^/]+$/.test(path),
    change: (ask) => ({
      ...ask,
      path: `${ask.path}?${query()}`,
      ...(ask.json === undefined ? {} : { json: { note: { changed: true } } }),
    }),
  };
}

/** In the query of groups. */
function inGroups(name: string, query: () => string): Attack {
  return {
    name,
    suits: ({ path }) => path.endsWith("/groups"),
    change: (ask) => ({ ...ask, path: `${ask.path}?${query()}` }),
  };
}

function toCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

const toProject = (ask: Ask) => ask.path.replace("todos", "projects");

const ATTACKS: readonly Attack[] = [
  { name: "nothing forged", suits: () => true, change: (ask) => ask },
  inPath("another app's row", MINE, THEIRS, hasRow),
  inPath("an id that both apps have", MINE, BOTH, hasRow),
  inPath("another app's parent row", `todos/${MINE}`, `projects/${THEIRS}`, hasRow),
  inPath("a parent id whose other owner has children", `todos/${MINE}`, `projects/${BOTH}`, hasRow),
  inPath("a row that does not exist", MINE, NO_ROW, hasRow),
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
  inBody("an invalid value", () => ({ kind: "c", title: 1 })),
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
  inHeaders("another app's key in addition to mine", (other) => ({
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
  // The service rejects these, unless the preview of conditions is on.
  inGroups("all groups", () => "by=title,project"),
  inGroups("groups of all rows", () => "min=id"),
  inGroups("groups of another app's value", () => `by=kind&title=eq.${encodeURIComponent(SECRET)}`),
  inGroups(
    "groups of a reference that both apps have",
    () => `by=project&project=in.(${THEIRS},${BOTH})`,
  ),
  inGroups(
    "groups of all but the rows of mine",
    () => `by=title&not.and=(id.eq.${MINE},title.eq.mine)`,
  ),
  inWrite("every row", () => "all=true"),
  inWrite("every row, as a dry run", () => "all=true&dryRun=true"),
  inWrite("rows by ids of another app", () => `id=in.(${THEIRS},${BOTH})`),
  inWrite("rows by another app's value", () => `title=eq.${encodeURIComponent(SECRET)}`),
  inWrite(
    "rows by a reference that both apps have",
    () => `project=in.(${THEIRS},${BOTH})&limit=1`,
  ),
  inWrite(
    "rows by another app's value in a reference",
    () => `project.name=eq.${encodeURIComponent(SECRET)}`,
  ),
  inList("a condition on another app's value", () => `title=eq.${encodeURIComponent(SECRET)}`),
  inList("a pattern that matches another app's value", () => "title=ilike.*OTHER*&order=title"),
  inList("conditions on ids of another app", () => `id=in.(${THEIRS},${BOTH},${MINE})`),
  inList("a reference to another app's row", () => `project=eq.${THEIRS}`),
  inList("a reference that both apps have", () => `project=eq.${BOTH}&order=title.desc`),
  inList("all but the rows of mine", () => `not.and=(id.eq.${MINE},title.eq.mine)`),
  inList("a search in everything", () => "or=(title.like.*,kind.is.null)&select=id,title,project"),
  inList(
    "the rows after another app's row",
    () => `order=id&after=${toCursor(["id.asc", THEIRS])}`,
  ),
  inList(
    "the rows before another app's row",
    () => `order=title.desc&after=${toCursor(["title.desc,id.desc", SECRET, THEIRS])}`,
  ),
  inList("an order that other rows would change", () => "order=kind,title.desc&limit=1&offset=1"),
  inList(
    "every condition together",
    (other) => `and=(${Array(30).fill(`pinned.is.null`).join(",")})&or=(title.eq.${other.slug})`,
  ),
];

/** A service as the matrix needs it: the matrix sends requests over HTTP and reads rows directly. */
export type MatrixService = { url: string; admin: Database; call: TestService["call"] };
export type World = { service: MatrixService; app: TestApp; other: TestApp | undefined };

async function seed(
  { admin }: MatrixService,
  app: TestApp,
  [own, title, code]: [own: string, title: string, code: number],
): Promise<void> {
  await admin.message(`
insert into data.projects (app_id, id, name, code) values
  ('${app.id}', '${own}', '${title}', ${code}), ('${app.id}', '${BOTH}', '${title} twice', null);
insert into data.todos (app_id, id, title, project, kind, note) values
  ('${app.id}', '${own}', '${title}', '${own}', 'a', '{"a":1}'),
  ('${app.id}', '${BOTH}', '${title}', '${BOTH}', 'b', '{"a":1}') returning id`);
}

export function toMatrixService({ url, service, call }: TestService): MatrixService {
  return { url, admin: service.admin, call };
}

/** Creates a service with an app. In a crowded world another app has rows, and a table that only it declares. */
export async function makeWorld(
  served: TestService,
  options: { crowded: boolean; live?: boolean },
): Promise<World> {
  const service = toMatrixService(served);
  const app = await served.makeApp(mine);
  const isLive = options.live === true && citusUrl() === undefined;
  if (isLive) await setAppSwitch(served.service, app.slug, ["live", true]);
  if (!options.crowded) return { service, app, other: undefined };
  const other = await served.makeApp(theirs);
  if (isLive) await setAppSwitch(served.service, other.slug, ["live", true]);
  await seed(service, other, [THEIRS, "the other app''s words", 77]);
  await service.call(other, "/v1/data/db/secrets", { method: "POST", json: { body: SECRET } });
  return { service, app, other };
}

/** A value of rows in both apps. The other app has it from the start. */
const SAME = { note: { a: 1 } };

/**
 * Returns the first event of a stream that resumes before a write to a row of the app and before writes of the same values
 * by the other app. Without a stream, returns the response.
 */
async function askChanges(
  { service, app, other }: World,
  path: string,
  call: Call,
): Promise<TestResponse> {
  const { headers = {} } = call;
  const open = (since?: string) => openEvents(service.url + path, { key: app.key, since, headers });
  const before = await open();
  const ready = await before.next();
  await before.close();
  const write = async (writer: TestApp | undefined, id: string) => {
    const change = { method: "PATCH", json: SAME };
    if (writer !== undefined) await service.call(writer, `/v1/data/db/todos/${id}`, change);
  };
  await write(other, THEIRS);
  await write(app, MINE);
  await write(app, BOTH);
  await write(other, BOTH);
  if (ready === undefined) return await service.call(app, path, call);
  const resumed = await open(ready.id);
  const event = await resumed.next();
  await resumed.close();
  expect(event).toMatchObject({ kind: "changes", data: [{ put: SAME }, { put: SAME }] });
  const { response } = resumed;
  return {
    status: response.status,
    headers: response.headers,
    text: JSON.stringify({ ...event, id: "" }),
    json: undefined,
  };
}

async function resetMine({ service, app }: World): Promise<void> {
  await service.admin.message(`delete from data.todos where app_id = '${app.id}';
delete from data.projects where app_id = '${app.id}' returning id`);
  await seed(service, app, [MINE, "mine", 5]);
}

/** Returns all rows and registrations of the other app, as text. */
async function readTheirs({ service, other }: World): Promise<string> {
  const rows = await readRows<{ text: string }>(
    service.admin,
    `select concat(
      (select json_agg(row_to_json(p) order by id)::text from data.projects p where app_id = $1::uuid),
      (select json_agg(row_to_json(p) order by id)::text from data.todos p where app_id = $1::uuid),
      (select json_agg(row_to_json(p) order by id)::text from data.secrets p where app_id = $1::uuid),
      (select json_agg(definition order by table_name)::text from rowhouse.registrations where app_id = $1::uuid)) as text`,
    [other?.id ?? null],
  );
  return rows[0]?.text ?? "";
}

/** Returns a response without its unique parts: the request's id, the app's id, a created row's id, times. */
function toComparable(response: TestResponse, app: TestApp): unknown {
  const json = response.json as { id?: string; requestId?: string } | undefined;
  const fresh = (response.status === 201 ? json?.id : undefined) ?? "no fresh id";
  const mask = (text: string) =>
    text
      .replaceAll(app.id, "<app>")
      .replaceAll(app.slug, "<slug>")
      .replaceAll(json?.requestId ?? "no request id", "<request>")
      .replaceAll(fresh, "<fresh>")
      .replace(/01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<fresh>")
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<random>")
      .replace(/^"[0-9a-f]{32}(-zstd)?"$/, "<tag>")
      .replace(/sha256:[0-9a-f]{64}/g, "<checksum>");
  const headers = [...response.headers]
    .filter(([name]) => !VARYING.includes(name))
    .map(([name, value]) => [name, mask(value)]);
  return { status: response.status, headers, text: mask(response.text) };
}

/** Headers that differ between any two requests of an app: `ratelimit` counts each app separately. */
const VARYING = ["date", "x-request-id", "content-length", "ratelimit"];

/** Every endpoint that a key opens with these previews, as method and path. */
export const endpointsWith = (previews: readonly Preview[]): readonly string[] =>
  [...routes, ...docs]
    .filter((route) => route.access === "key" || route.access === "optional-key")
    .filter(({ preview }) => preview === undefined || previews.includes(preview))
    .map(({ method, path }) => `${method} ${path}`);

export type Worlds = { single: World; crowded: World };

/** Sends every request of an endpoint in both worlds: unchanged, and with every attack that applies to it. */
export async function checkEndpoint(worlds: Worlds, endpoint: string): Promise<void> {
  for (const plain of makeRequests(endpoint)) await checkRequest(worlds, plain);
}

async function checkRequest({ single, crowded }: Worlds, plain: () => Ask): Promise<void> {
  const { other } = crowded;
  if (other === undefined) throw new Error("The crowded world does not have its other app");
  const before = await readTheirs(crowded);
  expect(before).toContain(SECRET);
  // A read changes nothing; the lists after it show it.
  let isChanged = true;
  for (const attack of ATTACKS) {
    const ask = plain();
    if (!attack.suits(ask)) continue;
    const { path, ...call } = attack.change(ask, other);
    if (isChanged) await Promise.all([resetMine(single), resetMine(crowded)]);
    isChanged = call.method !== undefined || isStream(path);
    const askBoth = (path: string, call: Call = {}) =>
      Promise.all(
        [single, crowded].map(async (world) => {
          const response =
            isStream(path) && call.method === undefined
              ? await askChanges(world, path, call)
              : await world.service.call(world.app, path, call);
          return toComparable(response, world.app);
        }),
      );
    const responses = await askBoth(path, call);
    const lists = await askBoth("/v1/data/db/todos");
    expect({ attack: attack.name, response: responses[1], after: lists[1] }).toEqual({
      attack: attack.name,
      response: responses[0],
      after: lists[0],
    });
    // A response may contain the secret if the request does.
    if (!JSON.stringify(call).includes(SECRET))
      expect(JSON.stringify([responses[1], lists[1]])).not.toContain(SECRET);
    if ((await readTheirs(crowded)) !== before)
      throw new Error(`"${attack.name}" changed the other app's rows`);
  }
}
