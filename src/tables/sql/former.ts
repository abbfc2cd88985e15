/**
 * Drops the indexes and hidden columns that only processes before 0.2.0 use; part of `rowhouse migrate --contract`. Each table is
 * changed as by a push that drops a column: under a short lock that is tried again, all or nothing.
 *
 * @module
 */

import { type Database, quoteLiteral, UpgradeError } from "../../db/mod.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS, renderLock } from "../plan/retype_messages.ts";
import { renderDropFormer, renderDropKey } from "./ddl.ts";
import { type IndexedTable, listIndexStates, readIndexes } from "./index_forms.ts";
import { renderLockTable } from "./message.ts";
import { whileHeld } from "./refresh.ts";

type FormerTable = Pick<IndexedTable, "name" | "stamp" | "keys"> & { indexes: string[] };

/** What is left, as an operator reads it. @throws {UpgradeError} an index that replaces another one is not built */
export async function listFormer(db: Database): Promise<string[]> {
  return (await findFormer(db)).map(describe);
}

/** Removes what is left, and returns what that was. @throws {UpgradeError} as `listFormer`; {Problem} push_busy */
export async function removeFormer(
  pushing: Database,
  report: (line: string) => void,
): Promise<string[]> {
  const done: string[] = [];
  for (const { name } of await findFormer(pushing))
    await whileHeld(name, "drop the former indexes", async () => {
      const [table] = await findFormer(pushing, name);
      if (table === undefined) return false;
      await pushing.message(renderDrops(table), { timeoutMs: MESSAGE_TIMEOUT_MS });
      done.push(describe(table));
      report(`Removed: ${describe(table)}`);
      return true;
    });
  return done;
}

async function findFormer(db: Database, wanted: string | null = null): Promise<FormerTable[]> {
  const unbuilt: string[] = [];
  const found = (await readIndexes(db, wanted)).flatMap((table) => {
    const states = listIndexStates(table).filter(({ former }) => former.length > 0);
    unbuilt.push(...states.filter(({ isBuilt }) => !isBuilt).map((state) => state.wanted));
    const { name, stamp, keys } = table;
    const indexes = states.flatMap(({ former }) => former);
    return indexes.length + keys.length === 0 ? [] : [{ name, stamp, keys, indexes }];
  });
  if (unbuilt.length > 0)
    throw new UpgradeError(
      `Indexes that replace others are not built yet: ${unbuilt.join(", ")}. Run rowhouse migrate, which builds them, and then this again`,
    );
  return found;
}

function describe({ name, keys, indexes }: FormerTable): string {
  return `what only these releases use in table ${name}: ${[...indexes, ...keys].join(", ")}`;
}

function renderDrops({ name, stamp, keys, indexes }: FormerTable): string {
  return [
    renderLockTable(name, stamp),
    ...MESSAGE_SETTINGS,
    renderLock(name),
    ...indexes.map(renderDropFormer),
    ...keys.map((key) => renderDropKey(name, key)),
    `select ${quoteLiteral(name)} as name`,
  ].join(";\n");
}
