/**
 * The names in an error of another node. Citus passes on the SQLSTATE and the words, without the fields that name a
 * constraint; and the words name the shard's. Pure.
 *
 * @module
 */
import { hashBytes } from "./hash.ts";

/** What a broken rule is called, as far as the words say. */
export type ShardNames = {
  constraint: string | undefined;
  table: string | undefined;
  column: string | undefined;
};

/**
 * The quoted names by what was broken, in the order in which PostgreSQL's words have them.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const WORDS = {
  unique: /"(?<constraint>[^"]+)"/,
  reference: /"(?<table>[^"]+)"[^"]*"(?<constraint>[^"]+)"/,
  required: /"(?<column>[^"]+)"[^"]*"(?<table>[^"]+)"/,
} as const;

/** The names as the definition has them: a long one may be shortened. */
export function readShardNames(kind: keyof typeof WORDS, message: string): ShardNames {
  const { constraint, table, column } = WORDS[kind].exec(message)?.groups ?? {};
  return { constraint: stripShard(constraint), table: stripShard(table), column };
}

/** Names of shards end with their number. */
function stripShard(name: string | undefined): string | undefined {
  return name?.replace(/_\d+$/, "");
}

/** Whether this is the name on a shard: as it is, or shortened to a beginning of it and a hash of the whole. */
export function isNamed(name: string, found: string): boolean {
  if (name === found) return true;
  const [, start, hash] = /^(.+)_([0-9a-f]{8})$/.exec(found) ?? [];
  return (
    start !== undefined &&
    name.startsWith(start) &&
    hash === toHex(hashBytes(new TextEncoder().encode(name)))
  );
}

/** Citus shortens names with it. */
function toHex(hash: number): string {
  return (hash >>> 0).toString(16).padStart(8, "0");
}
