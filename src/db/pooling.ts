/**
 * Whether a pooler stands between, and what becomes of prepared statements there. A pooler makes up the process id that it
 * tells a client at sign-in, so it differs from the backend's own. One that hands a session from client to client either
 * follows prepared statements, and gives them names of its own, or passes names through: then one client's statement is
 * sent to a session that does not know it, or knows another one by that name. Tried with PgBouncer 1.18 and 1.25, in each
 * mode, idle and under load.
 *
 * @module
 */
import { readOrigin } from "./pool/connection.ts";
import { type Database, openDatabase, SERVICE_QUEUE } from "./pool/mod.ts";
import { readSqlState } from "./sqlstate.ts";

export type Pooling =
  /** Straight to PostgreSQL. */
  | "none"
  /** A pooler, to which no statement was given to prepare. */
  | "pooled"
  /** It keeps a session for each client. */
  | "sessions"
  /** It follows prepared statements from session to session. */
  | "followed"
  /** It mixes them up. */
  | "mixed";

export type PoolingOptions = { url: string; prepare: boolean; name: string };

/** So that clients meet in a session even while others use the pooler, too. */
const CLIENTS = 4;
const ROUNDS = 3;

/** @throws {Problem} the database cannot be reached */
export async function findPooling(options: PoolingOptions): Promise<Pooling> {
  const [first, ...others] = Array.from({ length: CLIENTS }, () =>
    openDatabase({ ...options, connections: 1 }),
  );
  if (first === undefined) return "none";
  try {
    const { isBackend } = await look(first);
    if (isBackend) return "none";
    return options.prepare ? await findMixing([first, ...others]) : "pooled";
  } catch (error) {
    if (MIXED_UP.includes(readSqlState(error) ?? "")) return "mixed";
    throw error;
  } finally {
    await Promise.all([first, ...others].map((client) => client.close(1)));
  }
}

/** A session does not know a prepared statement, or knows one by that name already. */
const MIXED_UP = ["26000", "42P05"];

/** One after the other, so that a session that one client has left is the next one's. */
async function findMixing(clients: readonly Database[]): Promise<Pooling> {
  const looks: (Look & { client: Database })[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const client of clients) looks.push({ client, ...(await look(client)) });
  if (looks.some(({ given, known }) => !known.includes(given))) return "followed";
  // Two clients met in a session, or one was in two.
  const isHandedOn = looks.some((look) =>
    looks.some((two) => (look.client === two.client) !== (look.backend === two.backend)),
  );
  return isHandedOn ? "mixed" : "sessions";
}

type Look = {
  /** The process that answered. */
  backend: number;
  /** Whether the client was told that process's id. */
  isBackend: boolean;
  /** The name that the client gave to this statement. */
  given: string;
  /** The names by which the session knows it, each from one client. */
  known: readonly string[];
};

const MARK = "rowhouse_looks_for_a_pooler";

/** The statement finds itself among those that the session has prepared. */
async function look(client: Database): Promise<Look> {
  const rows = await client.query<{ pid: number; known: string }>(
    `select pg_catalog.pg_backend_pid() as pid, (select coalesce(pg_catalog.json_agg(name), '[]')
      from pg_catalog.pg_prepared_statements as ${MARK} where pg_catalog.strpos(statement, $1) > 0)::pg_catalog.text as known`,
    [MARK],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const { pid: backend = 0, known = "[]" } = rows[0] ?? {};
  const { pid, statement: given } = readOrigin(rows);
  return { backend, isBackend: pid === backend, given, known: JSON.parse(known) as string[] };
}
