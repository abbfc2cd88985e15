/**
 * Reads the names in an error of another node. Citus forwards the SQLSTATE and the message, but not the fields for
 * constraint and column. The message contains the names on the shard. Pure.
 *
 * @module
 */

/**
 * PostgreSQL's hash of bytes, a signed number of 32 bits, by which Citus finds an app's shard.
 *
 * @see https://github.com/postgres/postgres/blob/master/src/common/hashfn.c
 */
export function hashBytes(bytes: Uint8Array): number {
  const whole = bytes.length - (bytes.length % BLOCK);
  const start = (0x9e3779b9 + bytes.length + 3923095) | 0;
  const state: State = [start, start, start];
  for (let at = 0; at < whole; at += BLOCK) {
    add(state, bytes.slice(at, at + BLOCK));
    mix(state);
  }
  // The lowest byte of the last word is reserved for the length.
  const rest = new Uint8Array(BLOCK);
  rest.set(bytes.slice(whole, whole + 8));
  rest.set(bytes.slice(whole + 8), 9);
  add(state, rest);
  finish(state);
  return state[2];
}

type State = [a: number, b: number, c: number];

/** A block of bytes as three words, little-endian. */
const BLOCK = 12;

function add(state: State, block: Uint8Array): void {
  const terms = new DataView(block.buffer);
  for (const position of [0, 1, 2] as const)
    state[position] = (state[position] + terms.getInt32(4 * position, true)) | 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

const MIX = [4, 6, 8, 16, 19, 4] as const;
const FINISH = [14, 11, 25, 16, 4, 14, 24] as const;

function mix(state: State): void {
  MIX.forEach((bits, step) => {
    const [at, before, after] = [step % 3, (step + 2) % 3, (step + 1) % 3] as [0, 2, 1];
    state[at] = ((state[at] - state[before]) | 0) ^ rotate(state[before], bits);
    state[before] = (state[before] + state[after]) | 0;
  });
}

function finish(state: State): void {
  FINISH.forEach((bits, step) => {
    const [at, before] = [(step + 2) % 3, (step + 1) % 3] as [2, 1];
    state[at] = ((state[at] ^ state[before]) - rotate(state[before], bits)) | 0;
  });
}

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
  rule: /: "(?<column>[^"]+)"/,
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
