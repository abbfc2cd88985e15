/**
 * Which sessions keep the plans of which tables. PostgreSQL keeps the plans of every function that a session has called until
 * the session ends, so each app prefers one connection, and a session that has called functions of many tables is replaced.
 * Through a pooler neither reaches a session: the pooler chooses and replaces them.
 *
 * @module
 */

/** A function of a table that a session keeps after a call, or only the table. */
export type Touched = {
  readonly table: string;
  /** The text of the call; the name of the table without a function. */
  readonly code: string;
  /** An estimate of the function with the plans of its statements. */
  readonly bytes: number;
};

/** PostgreSQL's own data about a table and its indexes. */
const TABLE_BYTES = 46_000;
/** A session that probably keeps more is replaced as soon as it is idle. */
export const MAX_SESSION_BYTES = 100_000_000;

/** An estimate of what a session keeps. */
export type Memory = {
  readonly touch: (touched: readonly Touched[]) => void;
  readonly bytes: () => number;
};

export function makeMemory(): Memory {
  const tables = new Set<string>();
  const codes = new Set<string>();
  let codeBytes = 0;
  return {
    touch: (touched) => {
      for (const { table, code, bytes } of touched) {
        if (codes.has(code)) continue;
        codes.add(code);
        codeBytes += bytes;
        tables.add(table);
      }
    },
    bytes: () => tables.size * TABLE_BYTES + codeBytes,
  };
}

/**
 * The position of the connection that a queue prefers among idle ones: the highest rank by the queue and the connection's slot. So
 * a queue has the same order of connections always, and a connection that replaces another gets its queues.
 */
export function findPreferred(idle: readonly { readonly slot: number }[], queue: string): number {
  const seed = Bun.hash.xxHash32(queue);
  let preferred = 0;
  let highest = -1;
  for (const [position, { slot }] of idle.entries()) {
    const rank = mix(seed, slot);
    if (rank > highest) [preferred, highest] = [position, rank];
  }
  return preferred;
}

/** Spreads the bits of both numbers over 32 bits, with the constants of MurmurHash3. */
function mix(seed: number, slot: number): number {
  let mixed = Math.imul(seed ^ (slot + 1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
