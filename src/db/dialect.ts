/**
 * How apps' tables are created, changed and called, on one PostgreSQL or on a cluster's nodes. A property of the database, never
 * a setting. Code of upper layers asks what a dialect can do, not which one it is.
 *
 * @module
 */
import { quoteLiteral } from "../std/quote.ts";
import type { Database } from "./pool/mod.ts";

type Rejection = { readonly message: string; readonly remedy: string };

/** Why a database lacks features, in messages for callers. */
type Lacks = {
  readonly eventStreams: string;
  readonly changes: string;
  readonly setNull: Rejection;
};

export type LargeTableOptions = {
  readonly largeTablePages: number;
  readonly rowsAPage: number;
  /** The error for a node that is unavailable. */
  readonly reject: (node: string, error: unknown) => Error;
};

export type Dialect = {
  /** Whether a database can change from this dialect to another. */
  readonly canChange: boolean;
  /** Whether rows are on several nodes, which serve calls and accept commands. */
  readonly hasNodes: boolean;
  /** `undefined`: the database has every feature. */
  readonly lacks: Lacks | undefined;
  /** The service's own functions where they differ, and the names of further objects in the schema rowhouse. */
  readonly service?: { readonly code: string; readonly keeps: readonly string[] };
  /** The statement that returns the text of a call, and the echo of its request. */
  readonly callWithEcho: (call: string, echo: string) => string;
  /** The same for a short write, which fails if it waits for a lock; `undefined` if it could not be sent to one node. */
  readonly callBriefly?: (call: string, echo: string) => string;
  /** One statement of a message that changes tables. */
  readonly toStatement: (statement: string) => string;
  /** The PL/pgSQL that runs the text of a migration. */
  readonly runMigration: (sql: string) => string;
  /** The statements that follow the creation of an app's table. */
  readonly placeTable: (name: string) => readonly string[];
  /** The statements that create functions, from those for one PostgreSQL. */
  readonly createFunctions: (
    statements: readonly string[],
    signatures: readonly string[],
  ) => readonly string[];
  /** The tables that are large on all nodes together. Without it, the database's own statistics count. */
  readonly findLargeTables?: (
    admin: Database,
    names: readonly string[],
    options: LargeTableOptions,
  ) => Promise<ReadonlySet<string>>;
};

/** How long a write can wait for a lock while other writes wait for it. Then it is sent alone. */
export const SHORT_WAIT = "100ms";

/** One PostgreSQL. */
export const PLAIN: Dialect = {
  canChange: true,
  hasNodes: false,
  lacks: undefined,
  callWithEcho: (call, echo) => `select ${call} as body, ${echo}`,
  // The `case` evaluates its condition first.
  callBriefly: (call, echo) =>
    `select case when pg_catalog.set_config('lock_timeout', '${SHORT_WAIT}', true) <> '' then ${call} end as body, ${echo}`,
  toStatement: (statement) => statement,
  runMigration: (sql) => `execute ${quoteLiteral(sql)};`,
  placeTable: () => [],
  createFunctions: (statements) => statements,
};
