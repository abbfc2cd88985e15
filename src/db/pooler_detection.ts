/**
 * Detects a pooler in front of PostgreSQL, and how the pooler handles prepared statements. A pooler reports an invented
 * process id to a client, which differs from the backend's. If clients share sessions, the pooler either tracks prepared
 * statements under its own names, or passes the clients' names through. In the second case, a session can lack a client's
 * statement, or have another statement with the same name. Tested with PgBouncer 1.18 and 1.25, in each mode, idle and
 * under load.
 *
 * @module
 */

import { readOrigin } from "./pool/connection.ts";
import { type Database, openDatabase, SERVICE_QUEUE } from "./pool/mod.ts";
import { readSqlState } from "./sqlstate.ts";

export type Pooling =
  /** A direct connection to PostgreSQL. */
  | "none"
  /** A pooler; no statement was prepared through it. */
  | "pooled"
  /** A pooler that uses one session per client. */
  | "sessions"
  /** A pooler that tracks prepared statements across sessions. */
  | "followed"
  /** A pooler that mixes up prepared statements. */
  | "mixed";

type PoolingOptions = { url: string; prepare: boolean; name: string };

/** Enough clients to share a session even while others use the pooler. */
const CLIENTS = 4;
const ROUNDS = 3;

/** @throws {Problem} the database cannot be reached */
export async function findPooling(options: PoolingOptions): Promise<Pooling> {
  const [first, ...others] = Array.from({ length: CLIENTS }, () =>
    openDatabase({ ...options, connections: 1 }),
  );
  if (first === undefined) return "none";
  try {
    const { isBackend } = await probe(first);
    if (isBackend) return "none";
    return options.prepare ? await findMixing([first, ...others]) : "pooled";
  } catch (error) {
    if (MIXED_UP.includes(readSqlState(error) ?? "")) return "mixed";
    throw error;
  } finally {
    await Promise.all([first, ...others].map((client) => client.close(1)));
  }
}

/** A session does not know a prepared statement, or already has another statement with its name. */
const MIXED_UP = ["26000", "42P05"];

/** Runs the clients in sequence, so that each gets the session that the previous client released. */
async function findMixing(clients: readonly Database[]): Promise<Pooling> {
  const probes: (Probe & { client: Database })[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const client of clients) probes.push({ client, ...(await probe(client)) });
  if (probes.some(({ given, known }) => !known.includes(given))) return "followed";
  // Two clients shared a session, or one client used two.
  const isHandedOn = probes.some((probe) =>
    probes.some((two) => (probe.client === two.client) !== (probe.backend === two.backend)),
  );
  return isHandedOn ? "mixed" : "sessions";
}

type Probe = {
  backend: number;
  /** Whether the client got the same process id at sign-in. */
  isBackend: boolean;
  given: string;
  /** The session's names for it, each from one client. */
  known: readonly string[];
};

const MARK = "rowhouse_pooler_check";

/** Selects its own row among the session's prepared statements. */
async function probe(client: Database): Promise<Probe> {
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
