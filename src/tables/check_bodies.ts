/**
 * Compares the functions of apps' tables with this release's output, in a process that serves.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";
import { makeGiveWay } from "../std/give_way.ts";
import { findForeign, makeGenerate } from "./sql/foreign_functions.ts";
import { findUnverified, readStoredTables, toSlices } from "./sql/verified_tables.ts";

/** Compares all functions with this release's output, unless this digest already passed. */
export type CheckBodies = (digest: string) => Promise<readonly string[]>;

/** Reads and generates a table's functions only if neither `rowhouse migrate` nor this process has compared what they are now. */
export function makeCheckBodies(db: Database): CheckBodies {
  let checked: string | undefined;
  let passed: ReadonlySet<string> = new Set();
  return async (digest) => {
    if (digest === checked) return [];
    const { bodies, tables } = await findUnverified(db);
    const foreign: string[] = [];
    const digests = new Set(
      tables.map((table) => table.digest).filter((known) => passed.has(known)),
    );
    for (const slice of toSlices(tables.filter((table) => !passed.has(table.digest)))) {
      const giveWay = makeGiveWay();
      const names = slice.map(({ name }) => name);
      const stored = await readStoredTables(db, names);
      const found = await findForeign(stored, makeGenerate(stored, giveWay), giveWay);
      foreign.push(...[...found.values()].flat());
      for (const table of stored.tables)
        if (table.digest !== undefined && found.get(table.name)?.length === 0)
          digests.add(table.digest);
    }
    passed = digests;
    // The functions can have changed since their digest was made: then the next check compares again.
    checked = tables.every((table) => digests.has(table.digest)) ? bodies : undefined;
    return foreign.map(
      (signature) => `Function api.${signature} must have the body that this release generates`,
    );
  };
}
