/**
 * Gives the tables of earlier releases the policy by which functions find rows, and the estimate of an app's rows; part of
 * `rowhouse migrate`. Locks one table at a time, for milliseconds.
 *
 * @module
 */

import {
  type Database,
  LOCK_BUDGET_MS,
  quoteBody,
  quoteLiteral,
  quoteName,
  READER,
  readDialect,
  readRows,
  readValue,
} from "../../db/mod.ts";
import { TABLE_OWNER } from "../catalog/mod.ts";
import { renderAppEstimate, renderReader } from "./ddl.ts";
import { whileHeld } from "./refresh.ts";

/** The recorded tables without the policy, whose functions could find no row, or without the estimate. Calls no function, because a database of an earlier release lacks them. */
export async function findUnread(db: Database): Promise<string[]> {
  const { hasNodes } = await readDialect(db);
  const rows = await readRows<{ name: string }>(
    db,
    `select tables.name from rowhouse.tables join pg_catalog.pg_class on relname = tables.name
        and relnamespace = 'data'::pg_catalog.regnamespace
      where not exists (${renderPolicy("pg_class.oid")})${hasNodes ? "" : ` or not exists (${renderEstimate("pg_class.oid")})`}
      order by tables.name`,
  );
  return rows.map((row) => row.name);
}

/** Returns the names of the tables that it changed. Idempotent, also concurrently. @throws {Problem} push_busy */
export async function fitReaders(
  admin: Database,
  report: (done: { name: string; index: number; count: number }) => void = () => undefined,
): Promise<string[]> {
  const { hasNodes } = await readDialect(admin);
  const unread = hasNodes && (await hasEarlierProcess(admin)) ? [] : await findUnread(admin);
  for (const [index, name] of unread.entries()) {
    await whileHeld(name, "add the policy", async () => {
      await admin.message(renderFit(name, hasNodes));
      return true;
    });
    report({ name, index: index + 1, count: unread.length });
  }
  return unread;
}

/** A process of 0.1 checks the nodes by rules of its own, and would stop serving the apps of a node with the policy. */
async function hasEarlierProcess(admin: Database): Promise<boolean> {
  return await readValue<boolean>(
    admin,
    "select exists (select from rowhouse.earlier_processes() where is_running) as is_running",
  );
}

/** Another process can have added the policy, or a push have dropped the table. */
function renderFit(name: string, hasNodes: boolean): string {
  const table = `${quoteLiteral(`data.${quoteName(name)}`)}`;
  return [
    `set local role ${TABLE_OWNER}`,
    `do ${quoteBody(`begin
  if pg_catalog.to_regclass(${table}) is null then
    return;
  end if;
  perform rowhouse.lock_tables(array[${quoteLiteral(name)}], '{}', ${LOCK_BUDGET_MS});
  if not exists (${renderPolicy(`${table}::pg_catalog.regclass`)}) then
    ${renderReader(name).join(";\n    ")};
  end if;
  ${hasNodes ? "" : `${renderAppEstimate(name)};`}
end`)}`,
    `select ${quoteLiteral(name)} as name`,
  ].join(";\n");
}

function renderPolicy(table: string): string {
  return `select from pg_catalog.pg_policy where polrelid = ${table} and polname = '${READER.policy}'`;
}

function renderEstimate(table: string): string {
  return `select from pg_catalog.pg_attribute where attrelid = ${table} and attname = 'app_id'
        and attoptions operator(pg_catalog.@>) array['${READER.estimate}']`;
}
