/**
 * The form of a database: the preview `filters` decides the functions and indexes of its tables, and `rowhouse migrate` records
 * it. All other previews only open routes.
 *
 * @module
 */

import { type Database, readFilters } from "../db/mod.ts";
import { isPreview, PREVIEWS, type Preview } from "../preview.ts";
import { servesRows } from "../role.ts";
import type { Config } from "../settings/mod.ts";
import { quote } from "../std/quote.ts";
import { type Arguments, RejectedError, UsageError } from "./command.ts";

/** What a run of `rowhouse migrate` does about the form. `hasFilters`: after the run. */
export type FormPlan = { hasFilters: boolean; change: "on" | "off" | undefined };

/** A form stays until an operator ends it by name: a command without PREVIEW must not stop what a service serves. */
export async function planForm(
  admin: Database,
  { ROLE = "all", PREVIEW = [] }: Partial<Pick<Config, "ROLE" | "PREVIEW">>,
  isEnding = false,
): Promise<FormPlan> {
  const before = await readFilters(admin);
  // Processes of other roles do not have the setting.
  const isNamed = servesRows(ROLE) && PREVIEW.includes("filters");
  const hasFilters = (before || isNamed) && !isEnding;
  return { hasFilters, change: hasFilters === before ? undefined : hasFilters ? "on" : "off" };
}

/** For JSON. */
export function toPreviews({ hasFilters, change }: FormPlan) {
  const list = (isListed: boolean): Preview[] => (isListed ? ["filters"] : []);
  return { on: list(hasFilters), turnsOn: list(change === "on"), ends: list(change === "off") };
}

/** Whether to end the preview `filters`. @throws {UsageError} another name, or PREVIEW names it too */
export function readEnding(args: Arguments, { PREVIEW }: Pick<Config, "PREVIEW">): boolean {
  const name = args.text("end-preview");
  if (name === undefined) return false;
  if (!isPreview(name))
    throw new UsageError(
      `Cannot end the preview ${quote(name)}: must be one of ${PREVIEWS.join(", ")}`,
    );
  if (name !== "filters")
    throw new UsageError(
      `The preview ${name} has nothing in the database that could end: remove it from PREVIEW and restart the service`,
    );
  if (PREVIEW.includes(name))
    throw new UsageError(
      `Cannot end the preview ${name}, because PREVIEW names it: remove it from PREVIEW everywhere and restart the service first`,
    );
  return true;
}

export const ENDS_FILTERS =
  "Ends the preview filters and drops its functions and indexes; stored rows stay";

/** For an operator who removed the name from PREVIEW to end the preview. */
export function showKept({ hasFilters }: FormPlan, { PREVIEW }: Pick<Config, "PREVIEW">): string[] {
  if (!hasFilters || PREVIEW.length === 0 || PREVIEW.includes("filters")) return [];
  return [
    "The preview filters stays on, though PREVIEW does not name it: rowhouse migrate --end-preview filters ends it",
  ];
}

/**
 * Whether the database has the form for `filters`, though PREVIEW does not name it: this process does not serve it.
 *
 * @throws {RejectedError} PREVIEW names it, and the database does not have the form
 */
export async function checkForm(db: Database, previews: readonly Preview[]): Promise<boolean> {
  const hasFilters = await readFilters(db);
  const isNamed = previews.includes("filters");
  if (isNamed && !hasFilters)
    throw new RejectedError(
      "PREVIEW names filters, which this database does not have: run rowhouse migrate with this PREVIEW first, or correct PREVIEW",
    );
  return hasFilters && !isNamed;
}
