/** The ids of new rows: made here, except for rows that the Console restores from the history. @module */

import { type KeyRequestContext, prefers } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isUuid } from "../std/patterns.ts";
import type { DataDeps } from "./deps.ts";
import type { Body } from "./read_row.ts";

/** The preference of a create whose rows keep the ids in their bodies. It has no meaning without a key of the Console. */
const SENT_IDS = ["ids", "sent"] as const;
export const SENT_IDS_PREFERENCE = SENT_IDS.join("=");

/** In ascending order: responses and lists have the order of the ids. Restored rows are in the order of the request. */
export function makeNewIds(
  { makeId, previews }: Pick<DataDeps, "makeId" | "previews">,
  { principal, request }: KeyRequestContext,
  rows: readonly Body[],
): string[] {
  const isRestore =
    principal.isOfConsole && previews.includes("history") && prefers(request, ...SENT_IDS);
  // Sorted in case the clock went back.
  if (!isRestore) return rows.map(() => makeId()).sort();
  return rows.map(({ id }) => {
    if (typeof id === "string" && isUuid(id)) return id.toLowerCase();
    throw new Problem("invalid_json", {
      message: "Cannot restore a row: its id must be the uuid that it had",
    });
  });
}
