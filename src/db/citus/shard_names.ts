/**
 * Reads the names in an error of another node. Citus forwards the SQLSTATE and the message, but not the fields for
 * constraint and column. The message contains the names on the shard. Pure.
 *
 * @module
 */
import { hashBytes } from "./hash.ts";

/** The names in the message of a violation. */
export type ShardNames = {
  constraint: string | undefined;
  table: string | undefined;
  column: string | undefined;
};

/**
 * Patterns for the quoted names by kind of violation, in the order of PostgreSQL's messages.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const PATTERNS = {
  unique: /"(?<constraint>[^"]+)"/,
  reference: /"(?<table>[^"]+)"[^"]*"(?<constraint>[^"]+)"/,
  required: /"(?<column>[^"]+)"[^"]*"(?<table>[^"]+)"/,
} as const;

/** The names from the definition; Citus can have shortened a long name. */
export function readShardNames(kind: keyof typeof PATTERNS, message: string): ShardNames {
  const { constraint, table, column } = PATTERNS[kind].exec(message)?.groups ?? {};
  return { constraint: stripShard(constraint), table: stripShard(table), column };
}

/** Names of shards end with their number. */
function stripShard(name: string | undefined): string | undefined {
  return name?.replace(/_\d+$/, "");
}

/** Returns whether this is the name on a shard: unchanged, or shortened to a prefix and a hash of the whole name. */
export function isNamed(name: string, found: string): boolean {
  if (name === found) return true;
  const [, start, hash] = /^(.+)_([0-9a-f]{8})$/.exec(found) ?? [];
  return (
    start !== undefined &&
    name.startsWith(start) &&
    // Citus's hash for shortened names.
    hash === (hashBytes(new TextEncoder().encode(name)) >>> 0).toString(16).padStart(8, "0")
  );
}
