/** The previews that a schema needs. `dev` turns them on at its start, and says so. @module */

import { existsSync } from "node:fs";
import type { Preview } from "../../preview.ts";
import { type Definition, listRoles } from "../../schema/mod.ts";
import { quoteForShell } from "../../std/quote.ts";
import { RejectedError, type Setting } from "../command.ts";
import { evaluateSchema, findSchemaFile } from "../db/evaluate.ts";

/** Previews, and what in a schema needs them. */
const NEEDS: Partial<Record<Preview, { what: string; isNeeded: (schema: Definition) => boolean }>> =
  {
    browser: {
      what: "rules for people",
      isNeeded: ({ tables }) => tables.some(({ rules }) => rules !== undefined),
    },
  };

export type Need = { readonly preview: Preview; readonly what: string };

/** The previews that the schema file needs, and the roles of its rules. A missing or invalid file has none: the push reports it. */
export async function findNeeds(
  setting: Setting,
): Promise<{ needs: readonly Need[]; roles: readonly string[] }> {
  const file = findSchemaFile(setting);
  if (!existsSync(file)) return { needs: [], roles: [] };
  try {
    const schema = await evaluateSchema(setting, file);
    return { needs: listNeeds(schema), roles: listRoles(schema.tables) };
  } catch (error) {
    if (error instanceof RejectedError) return { needs: [], roles: [] };
    throw error;
  }
}

function listNeeds(schema: Definition): Need[] {
  return Object.entries(NEEDS).flatMap(([preview, { what, isNeeded }]) =>
    isNeeded(schema) ? [{ preview: preview as Preview, what }] : [],
  );
}

/** @throws {RejectedError} the schema has got what needs a preview that is off */
export function checkNeeds(schema: Definition, previews: readonly Preview[]): void {
  const missing = listNeeds(schema).find(({ preview }) => !previews.includes(preview));
  if (missing === undefined) return;
  throw new RejectedError(
    `The schema now has ${missing.what}, which need PREVIEW=${missing.preview}: stop rowhouse dev and start it again, which turns it on`,
  );
}

export function describeNeed({ preview, what }: Need, app: string): string {
  return `The schema has ${what}: dev turns PREVIEW=${preview} on, and ${preview} for the app ${app}. In production an operator does both (rowhouse admin set-app ${quoteForShell(app)} ${quoteForShell(preview)} on)`;
}
