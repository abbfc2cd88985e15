/**
 * The measured requests: for each, the HTTP request to the service and the plain server, the function call that is the upper
 * limit, and PostgREST's main query.
 *
 * @module
 */

import { LIST_BYTES } from "../src/data/mod.ts";
import { functionName, type SetFunction } from "../src/tables/catalog/mod.ts";
import type { LoadRequest } from "./load_process.ts";
import { DRAWN_APP, DRAWN_ROW, drawRow, rowId, type Size } from "./names.ts";
import { PROOF, type Stage, TASKS } from "./stage.ts";

export type Scenario = {
  name: string;
  title: string;
  /** The path is relative to the table's, `:id` is a row of the app, and `status` is the expected status. */
  http: { method: LoadRequest["method"]; path: string; status: number; body?: string };
  /** The call that the service makes, for pgbench. */
  call: string;
  /** The query inside PostgREST's main statement. */
  query: string;
};

const COLUMNS = '"id", "app_id", "title", "status", "done", "position", "price", "notes", "due_at"';
const NEW_ROW = {
  title: "Paint the fence",
  status: "doing",
  position: 7,
  price: "12.50",
  notes: "Two coats, and mind the roses along the southern side of the house",
  due_at: "2026-03-04T05:06:07+00:00",
};
const CHANGE = { done: true, position: 8 };
/** The body as a variable of pgbench, because a colon inside a literal would begin a variable. */
const BODY = ":body";
const NEW_ID = "gen_random_uuid()";

/** Renders the call of a function as the service sends it, for a drawn app. */
export function callOf(name: SetFunction, values: string): string {
  const proof = `decode('${Buffer.from(PROOF).toString("hex")}', 'hex')`;
  return `select api."${functionName(TASKS, name)}"(${DRAWN_APP}, ${proof}, ${values})`;
}

/** Writes are last, because they change the results of reads. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "get",
    title: "get one row",
    http: { method: "GET", path: "/:id", status: 200 },
    call: callOf("get", `${DRAWN_ROW}, ${LIST_BYTES}`),
    query: `select * from data.tasks where app_id = ${DRAWN_APP} and id = ${DRAWN_ROW}`,
  },
  ...[20, 100, 1000].map((limit) => ({
    name: `list-${limit}`,
    title: `list ${limit} rows`,
    http: { method: "GET" as const, path: `?limit=${limit}`, status: 200 },
    call: callOf("list", `${limit}, 0, ${LIST_BYTES}, null, null`),
    query: `select * from data.tasks where app_id = ${DRAWN_APP} order by id limit ${limit} offset 0`,
  })),
  {
    name: "update",
    title: "update a row",
    http: { method: "PATCH", path: "/:id", status: 200, body: JSON.stringify(CHANGE) },
    call: callOf("update", `${DRAWN_ROW}, ${BODY}, ${LIST_BYTES}, null, null`),
    query: `update data.tasks set done = (b.v ->> 'done')::boolean, position = (b.v ->> 'position')::numeric
      from (select ${BODY}::json as v) as b
      where app_id = ${DRAWN_APP} and id = ${DRAWN_ROW} returning tasks.*`,
  },
  {
    name: "create",
    title: "create a row",
    http: { method: "POST", path: "", status: 201, body: JSON.stringify(NEW_ROW) },
    call: callOf("create", `${NEW_ID}, ${BODY}, ${LIST_BYTES}, null`),
    query: `insert into data.tasks (${COLUMNS})
      select ${NEW_ID}, ${DRAWN_APP}, b."title", b."status", false, b."position", b."price", b."notes", b."due_at"
      from json_to_record(${BODY}::json) as b("title" text, "status" data.tasks__status__enum,
        "position" numeric, "price" numeric, "notes" text, "due_at" timestamptz) returning tasks.*`,
  },
];

/** @throws {Error} there is no scenario of that name */
export function findScenario(name: string): Scenario {
  const scenario = SCENARIOS.find((known) => known.name === name);
  if (scenario !== undefined) return scenario;
  const known = SCENARIOS.map((row) => row.name).join(", ");
  throw new Error(`Cannot run "${name}": must be one of ${known}`);
}

/** The number of different requests of a load. */
const REQUESTS = 5000;

/** Returns the requests of a scenario, spread over the stage's apps and their rows. */
export function makeRequests({ http }: Scenario, { apps, size }: Stage): LoadRequest[] {
  const { method, body } = http;
  return Array.from({ length: REQUESTS }, (_, index) => {
    const app = apps[index % apps.length];
    if (app === undefined) throw new Error("The stage has no app");
    const row = rowId(size, app.number, 1 + Math.floor(Math.random() * size.rows));
    const path = `/v1/data/db/tasks${http.path.replace(":id", row)}`;
    const authorization = `Bearer ${app.key}`;
    if (body === undefined) return { method, path, headers: { authorization } };
    const headers = { authorization, "content-type": "application/json" };
    return { method, path, headers, body };
  });
}

/** Renders pgbench's script of the service's own call. */
export function limitScript(scenario: Scenario, size: Size): string {
  return `${drawRow(size)}\n${oneLine(scenario.call)};\n`;
}

/**
 * Renders pgbench's script of the statements that PostgREST sends for the same request: a transaction, the request's settings,
 * and the main query, which builds its JSON in the database.
 *
 * @see https://docs.postgrest.org/en/stable/references/transactions.html
 */
export function postgrestScript({ http, query }: Scenario, size: Size): string {
  const main = toPostgrestMain(query);
  return `${drawRow(size)}
begin isolation level read committed ${http.method === "GET" ? "read only" : "read write"};
${oneLine(SETTINGS)};
${main};
commit;
`;
}

/** Renders PostgREST's main statement around a query. */
export function toPostgrestMain(query: string): string {
  return oneLine(`with pgrst_source as (${query})
    select ''::text as total_result_set, pg_catalog.count(_postgrest_t) as page_total,
      coalesce(json_agg(_postgrest_t), '[]')::text as body,
      nullif(current_setting('response.headers', true), '') as response_headers,
      nullif(current_setting('response.status', true), '') as response_status
    from (select * from pgrst_source) as _postgrest_t`);
}

/** Uses `rowhouse.app_id` instead of PostgREST's claims, because the row security of the same table reads it. */
const SETTINGS = `select set_config('search_path', 'data', true), set_config('rowhouse.app_id', ${DRAWN_APP}::text, true),
  set_config('request.jwt.claims', '{"role":"app","app_id":"01900000-0000-7000-8000-100000000001"}', true),
  set_config('request.method', 'GET', true), set_config('request.path', '/tasks', true),
  set_config('request.headers', '{"accept":"*/*","host":"localhost:3000","user-agent":"load"}', true),
  set_config('request.cookies', '{}', true)`;

function oneLine(sql: string): string {
  return sql.replace(/\s+/g, " ");
}
