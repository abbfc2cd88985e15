/**
 * Keys for the Console to read and write rows of an app. They expire after `ROWS_KEY_LIFE_S`, or with the session that requested
 * them. The same login reads the app's declaration of a table.
 *
 * @module
 */
import type { Scope } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { flag, many, orNull, record, text } from "../actions/columns.ts";
import { makeKeyText, toProof, toProofDigest } from "../apps/key_text.ts";
import { DEFINITION } from "./tables.ts";

export const ROWS_PAGE = record({
  appId: text(),
  isDisabled: flag(),
  /** The current position of the app's changes, and the key for its cursors; `null` if live updates are off. */
  position: orNull(text()),
  cursorKey: orNull(text()),
  /** The app's current declaration of the table, or the last one. */
  definition: DEFINITION,
  /** The tables that this table references, and the tables that reference it. */
  related: many(DEFINITION),
});

export type RowsKey = { text: string; endsAt: number };

/** @throws {Problem} unknown_app; forbidden — the app is disabled */
export async function openRows(
  deps: ConsoleActor & { randomBytes: RandomBytes; keyPrefix: string },
  { appId, scopes, usedFor }: { appId: string; scopes: readonly Scope[]; usedFor: string },
): Promise<RowsKey> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes);
  const endsAt = await callConsole(deps, "console_open_rows", {
    wanted: appId,
    new_key_id: key.keyId,
    new_digest: toProofDigest(toProof(key.secret)),
    key_scopes: scopes,
    used_for: usedFor,
  });
  if (endsAt === null)
    throw new Problem("forbidden", {
      message: "This app is disabled: enable it to see and change its rows",
    });
  return { text: key.text, endsAt };
}
