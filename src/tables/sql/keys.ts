/**
 * The stored keys of columns, which an index for searches needs if no function of the values is leakproof. `rowhouse migrate` adds
 * them to small tables and drops those that no index needs; `rowhouse admin build-keys` adds them to large and shared tables,
 * because PostgreSQL then writes all rows again, under an exclusive lock.
 *
 * @module
 */

import { type Database, quoteLiteral } from "../../db/mod.ts";
import {
  builtIn,
  type Constraint,
  formAt,
  indexesOf,
  keyedColumns,
  keyName,
  keysOf,
} from "../catalog/mod.ts";
import { renderLock } from "../plan/retype_messages.ts";
import { renderDropKey } from "./ddl.ts";
import { type IndexedTable, listIndexStates, readIndexes } from "./index_forms.ts";
import { renderLockTable } from "./message.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
import { type Rebuilds, renderRebuilds, toRebuilds, whileHeld } from "./refresh.ts";

/** A table that needs keys, and the bytes that PostgreSQL writes again for them. */
export type DueKeys = Rebuilds & { isPutOff: boolean; bytes: number };

/** The tables that need keys. */
export async function findDueKeys(db: Database, wanted: string | null = null): Promise<DueKeys[]> {
  const { tables, ...site } = await readIndexes(db, wanted);
  return tables.flatMap((table) => {
    const outdated = listIndexStates(table, site).filter(
      ({ former, lacking }) => former.length > 0 && lacking.length > 0,
    );
    if (outdated.length === 0) return [];
    const { isLarge, isShared, bytes } = table;
    return [{ ...toRebuilds(table, outdated), isPutOff: isLarge || isShared, bytes }];
  });
}

/** What is due by an operator's command, for `migrate` and `doctor`. */
export function describeDueKeys(due: readonly DueKeys[]): string[] {
  return due
    .filter(({ isPutOff }) => isPutOff)
    .map(
      ({ name, keyed }) =>
        `Lists cannot search the indexes on ${keyed.map((column) => column.name).join(", ")} of table ${name} until rowhouse admin build-keys has run`,
    );
}

/** A long build must not be canceled: the table is locked as long as it is large. */
const LIMIT_MS = 12 * 60 * 60 * 1000;

/**
 * Adds the keys of one table, and records the builds of its indexes as deferred steps. One transaction, with its entry in the audit log: all or nothing. Returns
 * false if the table needs no keys.
 *
 * @throws {Problem} push_busy
 */
export async function addKeys(
  pushing: Database,
  name: string,
  { isLogged = false }: { isLogged?: boolean } = {},
): Promise<boolean> {
  return await whileHeld(name, "add the keys", async () => {
    const [table] = await findDueKeys(pushing, name);
    if (table === undefined) return false;
    const limit = `set local statement_timeout = '${LIMIT_MS}ms'`;
    const log = isLogged ? [renderLog(table)] : [];
    await pushing.message(renderRebuilds(table, [limit, ...log]), { timeoutMs: LIMIT_MS });
    return true;
  });
}

function renderLog({ name, keyed }: DueKeys): string {
  const columns = JSON.stringify(keyed.map((column) => column.name));
  return `select rowhouse.log_keys(${quoteLiteral(name)}, ${quoteLiteral(columns)})`;
}

/** The tables with keys that no index needs. */
export async function findUnusedKeys(db: Database, wanted: string | null = null) {
  const { tables, ...site } = await readIndexes(db, wanted);
  return tables.flatMap((table) => {
    const unused = listUnused(table, formAt(site) === "search");
    return unused.length === 0 ? [] : [{ name: table.name, stamp: table.stamp, unused }];
  });
}

function listUnused({ definition, keys, indexes }: IndexedTable, isSearch: boolean): string[] {
  const isUsed = (index: Constraint) =>
    isSearch || builtIn(index, "search").some(({ name }) => indexes.includes(name));
  const used = [...keysOf(definition), ...indexesOf(definition)]
    .filter(isUsed)
    .flatMap((index) => keyedColumns(index).map(({ name }) => keyName(name)));
  return keys.filter((key) => !used.includes(key));
}

/** Drops keys that no index needs, such as without the preview. A dropped column costs no write. */
export async function dropKeys(pushing: Database): Promise<void> {
  for (const { name } of await findUnusedKeys(pushing))
    await whileHeld(name, "drop the keys", async () => {
      const [table] = await findUnusedKeys(pushing, name);
      if (table === undefined) return false;
      const text = [
        renderLockTable(name, table.stamp),
        ...MESSAGE_SETTINGS,
        renderLock(name),
        ...table.unused.map((key) => renderDropKey(name, key)),
        `select ${quoteLiteral(name)} as name`,
      ].join(";\n");
      await pushing.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS });
      return true;
    });
}
