/** Histories of rows that an upgrade from 0.1 turns off, because they were not recorded. @module */

import { type Database, readRows, readValue } from "../db/mod.ts";
import { quoteForShell } from "../std/quote_shell.ts";

/**
 * The apps whose history of rows the migration `0012_listeners` turns off: 0.1 did not record it, because the database did not
 * have its preview. Empty if the file is applied.
 */
export async function listUnrecorded(admin: Database): Promise<string[]> {
  const isDue = await readValue<boolean>(
    admin,
    "select pg_catalog.to_regclass('rowhouse.listened') is null and pg_catalog.to_regclass('rowhouse.row_changes') is not null as is_due",
  );
  if (!isDue) return [];
  const rows = await readRows<{ slug: string }>(
    admin,
    `select slug from rowhouse.apps where 'history' = any (switches)
      and not exists (select from rowhouse.release where 'history' = any (features)) order by slug`,
  );
  return rows.map(({ slug }) => slug);
}

export function showUnrecorded(slugs: readonly string[]): string[] {
  return slugs.map(
    (slug) =>
      `Turns the history of rows off for ${slug}, because it was not recorded without its preview: rowhouse admin set-app ${quoteForShell(slug)} history on turns it on`,
  );
}
