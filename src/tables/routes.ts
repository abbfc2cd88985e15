/**
 * The routes of push: `POST /v1/data/schema` pushes, `GET` returns the record, and the path `/migrations/:seq` below it one
 * migration.
 *
 * @module
 */

import type { Database } from "../db/mod.ts";
import {
  checkJsonBody,
  checkObject,
  type KeyRequestContext,
  keyRejected,
  type Operation,
  parseJson,
  type Route,
  readText,
  rejectQuery,
  respondWithBytes,
  respondWithJson,
} from "../http/mod.ts";
import { type Log, logError } from "../observe.ts";
import type { Preview } from "../preview.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import { explainRights, listRoles, type TableDefinition } from "../schema/mod.ts";
import { isObject } from "../std/json.ts";
import { quote } from "../std/quote.ts";
import { MigrationBody, PushBody, PushedBody, RuledStatusBody, StatusBody } from "./bodies.ts";
import type { Catalog } from "./catalog/mod.ts";
import { MAX_MIGRATIONS } from "./history/journal.ts";
import { MAX_DEPTH } from "./history/migration_text.ts";
import { readMigrationJson, readStatusJson, type Status } from "./history/status.ts";
import {
  MAX_BYTES,
  MAX_REPLAY_BYTES,
  MIGRATIONS_PATH,
  type PushLimits,
  SCHEMA_PATH,
} from "./limits.ts";
import type { Planning } from "./plan/planning.ts";
import { type PushResult, push } from "./push.ts";
import { beginPush, type PushingApp, readKeyResult } from "./push_key.ts";
import { readPush } from "./read_push.ts";
import { acquireTurn } from "./turns.ts";
import type { Work } from "./work.ts";

// Descriptions of the push endpoints.

const COMMON = [
  "invalid_query",
  "unsupported_query",
  "overloaded",
  "timeout",
] as const satisfies readonly ProblemCode[];

const OPERATIONS = {
  push: {
    id: "push_schema",
    group: "schema",
    summary: "Push a schema, a change or a migration, or plan it",
    bodies: [PushBody],
    responses: [{ status: 200, when: "The applied or planned changes.", bodies: [PushedBody] }],
    problems: [
      ...COMMON,
      "unsupported_media_type",
      "body_too_large",
      "invalid_json",
      "invalid_schema",
      "incompatible_schema",
      "not_implemented",
      "edited_migration",
      "diverged_history",
      "push_busy",
      "journal_full",
    ],
  },
  status: {
    id: "get_schema",
    group: "schema",
    summary: "Get the app's tables, migrations and deferred steps",
    responses: [{ status: 200, when: "The recorded state of the app.", bodies: [StatusBody] }],
    problems: COMMON,
  },
  ruledStatus: {
    id: "get_schema",
    group: "schema",
    summary: "Get the app's tables, rules, migrations and deferred steps",
    responses: [{ status: 200, when: "The recorded state of the app.", bodies: [RuledStatusBody] }],
    problems: COMMON,
  },
  migration: {
    id: "get_migration",
    group: "schema",
    summary: "Get a migration with its SQL",
    parameters: [
      {
        in: "path",
        name: "seq",
        description: "The number of the migration.",
        schema: { type: "integer", minimum: 1, maximum: MAX_MIGRATIONS },
      },
    ],
    responses: [{ status: 200, when: "The migration.", bodies: [MigrationBody] }],
    problems: [...COMMON, "invalid_id", "not_found"],
  },
} satisfies Record<string, Operation>;

export type PushRouteDeps = {
  /** A pool with the pushing login. */
  admin: Database;
  catalog: Pick<Catalog, "refresh" | "tablesOf">;
  log: Log;
  pushLimits: PushLimits;
  /** The previews that this process serves. */
  previews: readonly Preview[];
  planning: Planning;
  work: Work;
};

/** A key that can only read the schema can plan a push. */
const POST_PUSH = {
  method: "POST",
  access: "key",
  scope: "schema:push",
  lesserScope: "schema:read",
} as const;
const GET_RECORD = { method: "GET", access: "key", scope: "schema:read" } as const;

export const pushRoutes: readonly Route<PushRouteDeps>[] = [
  { ...POST_PUSH, path: SCHEMA_PATH, operation: OPERATIONS.push, handle: handlePush },
  {
    ...GET_RECORD,
    path: SCHEMA_PATH,
    operation: OPERATIONS.status,
    previewed: { browser: OPERATIONS.ruledStatus },
    handle: handleStatus,
  },
  {
    ...GET_RECORD,
    path: `${MIGRATIONS_PATH}/:seq`,
    operation: OPERATIONS.migration,
    handle: handleMigration,
  },
];

/** Responds when the push is committed. Deferred steps continue in this process. */
async function handlePush(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  const { principal } = context;
  const { body, kinds, isLong } = await readRequest(context);
  const dryRun = body["dryRun"] === true;
  const isApplying = !dryRun && kinds[0] === "migration";
  const begin = () => beginPush(deps, principal, { isApplying, dryRun });
  const answer = async (begun?: PushingApp) => {
    const { appId } = principal;
    await acquireTurn(appId);
    const { options, ...request } = await readPush(deps.work, { appId, body });
    const app = begun ?? (await begin());
    const limited = {
      ...options,
      journalBytes: deps.pushLimits.journalBytes,
      rejectsRules: !deps.previews.includes("browser"),
    };
    return await respondWithPush(deps, await push(deps, { app, ...request, options: limited }));
  };
  if (!isLong) return await answer();
  // Counted before it is read, because reading can last long.
  if (!dryRun) return await answer(await begin());
  return await deps.planning.admit(principal.appId, async () => {
    const app = await begin();
    return await deps.planning.inTurn(() => answer(app));
  });
}

/** The body, and the kinds of its steps. Long: it contains migrations or several steps. */
async function readRequest({ query, request }: KeyRequestContext) {
  rejectQuery(query);
  checkJsonBody(request);
  const text = await readText(request, MAX_REPLAY_BYTES);
  const body = checkObject(parseJson(text, undefined, MAX_DEPTH));
  const { steps } = body;
  const kinds = Array.isArray(steps) ? steps.map((step) => isObject(step) && step["kind"]) : [];
  const hasMigrations = kinds.includes("migration") || kinds.includes("join");
  if (!hasMigrations && Buffer.byteLength(text) > MAX_BYTES)
    throw new Problem("body_too_large", {
      message: `The body is larger than ${MAX_BYTES} bytes, the max without a migration`,
    });
  return { body, kinds, isLong: hasMigrations || kinds.length > 1 };
}

async function respondWithPush(
  { catalog, log }: PushRouteDeps,
  { deferred: _, ...result }: PushResult,
): Promise<Response> {
  // The push is committed. If this refresh fails, the response is still correct, and a later refresh reads the push.
  if (result.status === "applied")
    await catalog.refresh().catch(logError(log, "the check of a pushed table"));
  return respondWithJson(result);
}

async function handleStatus(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  rejectQuery(context.query);
  const status = await readKeyResult(deps, readStatusJson(deps.admin, context.principal));
  if (status === undefined) throw keyRejected();
  await deps.catalog.refresh();
  const tables = deps.catalog.tablesOf(context.principal.appId);
  if (tables.every(({ rules }) => rules === undefined)) return respondWithBytes(status);
  return respondWithJson(addRules(JSON.parse(new TextDecoder().decode(status)), tables));
}

/** The status with the rules of its tables as sentences. */
function addRules(status: Status, tables: readonly TableDefinition[]): object {
  const explain = ({ name }: { readonly name: string }) => {
    const table = tables.find((known) => known.name === name);
    if (table?.rules === undefined) return {};
    const rules = listRoles([table]).map((role) => ({ role, rights: explainRights(table, role) }));
    return { rules };
  };
  return { ...status, tables: status.tables.map((table) => ({ ...table, ...explain(table) })) };
}

async function handleMigration(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  rejectQuery(context.query);
  const seq = readSeq(context.params["seq"] ?? "");
  const migration = await readKeyResult(
    deps,
    readMigrationJson(deps.admin, context.principal, seq),
  );
  if (migration === undefined)
    throw new Problem("not_found", { message: `This app has no migration ${seq}` });
  return respondWithBytes(migration);
}

function readSeq(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Problem("invalid_id", {
    message: `Cannot read ${quote(text)} as the number of a migration: must be 1 to ${MAX_MIGRATIONS}`,
  });
}
