/** Lists of records, as operators read them. @module */

import type { Database } from "../../src/db/mod.ts";
import { auditList, readList, toJsonRow } from "../../src/records/actions/mod.ts";
import { appList, keyList } from "../../src/records/apps/mod.ts";

type Deps = { admin: Database };

export async function listApps(deps: Deps) {
  return (await readList(deps, appList)).apps;
}

export async function listKeys(deps: Deps, slug: string) {
  return (await readList(deps, keyList, { of: slug })).keys;
}

/** The latest entries, with their details as an object. */
export async function listAudit(deps: Deps, limit: number) {
  const { entries } = await readList(deps, auditList, { limit });
  return entries.map((entry) => ({
    ...entry,
    details: toJsonRow(auditList.columns, entry)["details"] as Record<string, unknown>,
  }));
}
