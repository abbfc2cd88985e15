/**
 * The stored keys of columns, which an index for searches needs if no function of the values is leakproof. `rowhouse migrate` adds
 * them to small tables and drops those that no index needs; `rowhouse admin build-keys` adds them to large and shared tables,
 * because PostgreSQL then writes all rows again, under an exclusive lock.
 *
 * @module
 */

import { type Database, quoteLiteral } from "../../db/mod.ts";
import type { ConsoleTable } from "../../records/console/mod.ts";
import {
  builtIn,
  type Constraint,
  type FunctionSite,
  formAt,
  indexesOf,
  keyedColumns,
  keyName,
  keysOf,
} from "../catalog/mod.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS, renderLock } from "../plan/retype_messages.ts";
import { putsOffKeys } from "../state.ts";
import { renderDropKey } from "./ddl.ts";
import { type IndexedTable, listIndexStates, readIndexes } from "./index_forms.ts";
import { renderLockTable } from "./message.ts";
import { type Rebuilds, renderRebuilds, toRebuilds, whileHeld } from "./refresh.ts";

/** A table that needs keys, and the bytes that PostgreSQL writes again for them. */
type DueKeys = Rebuilds & { isPutOff: boolean; bytes: number };

export async function findDueKeys(db: Database, wanted: string | null = null): Promise<DueKeys[]> {
  const { tables, ...site } = await readIndexes(db, wanted);
  return tables.flatMap((table) => {
    const outdated = listLacking(table, site);
    if (outdated.length === 0) return [];
    return [{ ...toRebuilds(table, outdated), isPutOff: putsOffKeys(table), bytes: table.bytes }];
  });
}

/** What is due by an operator's command, for `migrate` and `doctor`. */
export function describeDueKeys(due: readonly DueKeys[]): string[] {
  return due
    .filter(({ isPutOff }) => isPutOff)
    .map(({ name, keyed }) => describeLacking(name, keyed));
}

function describeLacking(table: string, lacking: readonly { name: string }[]): string {
  const names = [...new Set(lacking.map(({ name }) => name))];
  return `Lists cannot search the indexes on ${names.join(", ")} of table ${table} until rowhouse admin build-keys has run`;
}

/** The same for a table as the Console reads it; `undefined` if no keys are due. */
export function describeTableKeys({
  name,
  definition,
  found,
  builds,
}: Pick<ConsoleTable, "name" | "definition" | "found" | "builds">): string | undefined {
  if (found === null) return undefined;
  const { keys, parts } = found;
  const site: FunctionSite = {
    dialect: "plain",
    hasFilters: found.previews?.includes("filters") === true,
  };
  const named = Object.entries(parts).flatMap(([part, state]) => {
    const [, index] = /^(?:index|constraint) (.+)$/.exec(part) ?? [];
    return index === undefined ? [] : [{ index, state }];
  });
  const indexes = named.filter(({ state }) => state === "there").map(({ index }) => index);
  const unfinished = [
    ...named.filter(({ state }) => state !== "there").map(({ index }) => index),
    ...builds
      .filter(({ kind, state }) => kind === "index" && state !== "done")
      .map((build) => build.name),
  ];
  const lacking = listLacking({ name, definition, indexes, unfinished, keys }, site);
  return lacking.length === 0
    ? undefined
    : describeLacking(
        name,
        lacking.flatMap((state) => state.lacking),
      );
}

/** The indexes that are in use in another form, because the table lacks keys. */
function listLacking(table: Parameters<typeof listIndexStates>[0], site: FunctionSite) {
  return listIndexStates(table, site).filter(
    ({ former, lacking }) => former.length > 0 && lacking.length > 0,
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

/** Drops keys that no index needs, such as without filters. A dropped column costs no write. */
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
