/** The routes of push: `POST /v1/data/schema` pushes, `GET /v1/data/schema` tells what is recorded. @module */
import type { Database } from "../db/mod.ts";
import { type Definition, readDefinition } from "../dsl/mod.ts";
import {
  answerJson,
  checkJsonBody,
  checkObject,
  type KeyExchange,
  parseJson,
  type Route,
  readText,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { push } from "./apply.ts";
import { readStatus } from "./status.ts";

export type PushRouteDeps = {
  /** Absent where this process serves without administrator's rights. */
  admin: Database;
  catalog: { refresh: () => Promise<void> };
};

/** Definitions are larger than rows: 500 tables × 200 columns do not fit into 100 KB. */
export const MOST_BYTES = 1_048_576;

export const pushRoutes: readonly Route<PushRouteDeps>[] = [
  {
    method: "POST",
    path: "/v1/data/schema",
    access: { kind: "key", scope: "schema:push" },
    handle: handlePush,
  },
  {
    method: "GET",
    path: "/v1/data/schema",
    access: { kind: "key", scope: "schema:push" },
    handle: handleStatus,
  },
];

async function handlePush(deps: PushRouteDeps, exchange: KeyExchange): Promise<Response> {
  refuseQuery(exchange);
  checkJsonBody(exchange.request);
  const body = checkObject(parseJson(await readText(exchange.request, MOST_BYTES)));
  const definition = checkDefinition(body["definition"]);
  const dryRun = body["dryRun"] === true;
  const app = await findApp(deps.admin, exchange.principal.appId);
  const result = await push(deps, { app, definition, options: { dryRun } });
  if (result.status === "applied") await deps.catalog.refresh();
  return answerJson(result);
}

async function handleStatus(deps: PushRouteDeps, exchange: KeyExchange): Promise<Response> {
  refuseQuery(exchange);
  return answerJson(await readStatus(deps.admin, exchange.principal.appId));
}

/**
 * The definition of a request, checked whole: whatever sent it, only this lets names and defaults reach DDL.
 *
 * @throws {Problem} invalid_schema — every fault at once
 */
export function checkDefinition(value: unknown): Definition {
  const read = readDefinition(value);
  if ("definition" in read) return read.definition;
  throw new Problem("invalid_schema", {
    message: `Cannot push: the definition has ${read.faults.length} ${read.faults.length === 1 ? "fault" : "faults"}; nothing was written`,
    details: read.faults.map(({ table, column, message }) => ({
      path: [table, column].flatMap((part) => (part === undefined ? [] : [`/${part}`])).join(""),
      message,
    })),
  });
}

async function findApp(admin: Database, id: string): Promise<{ id: string; slug: string }> {
  const [row] = await admin.query<{ slug: string }>(
    "select slug from rowhouse.apps where id = $1",
    [id],
    { effect: "read" },
  );
  if (row === undefined) throw new Problem("unauthenticated");
  return { id, slug: row.slug };
}

function refuseQuery({ query }: KeyExchange): void {
  if (query === "") return;
  throw new Problem("unsupported_query", { message: "This endpoint takes no query parameters" });
}
