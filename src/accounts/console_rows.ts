/**
 * The keys with which the Console reads and writes rows of an app: they live five minutes, and no longer than the session
 * that asked for them. What an app declares of a table comes from the same login.
 *
 * @module
 */
import { SIGNALS, SignalError } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { type ConsoleDeps, callConsole, readConsole } from "./console_call.ts";
import type { ConsoleVisitor } from "./console_reads.ts";
import { toProof, toProofDigest } from "./key_proof.ts";
import { makeKeyText } from "./key_text.ts";
import { refuseUnknownApp } from "./keys.ts";
import type { ShownCookies } from "./shown_call.ts";

export type ShownRows = {
  me: ConsoleVisitor;
  appId: string;
  isDisabled: boolean;
  /** What the app declares, or has declared, of the table. */
  definition: TableDefinition;
};

/** @throws {Problem} unknown_app; unknown_table */
export async function showConsoleRows(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, table }: { slug: string; table: string },
): Promise<ShownRows> {
  try {
    return await readConsole<ShownRows>(deps, cookies, {
      name: "console_show_rows",
      values: [slug, table],
    });
  } catch (error) {
    if (error instanceof SignalError && error.signal === SIGNALS.unknownTable)
      throw new Problem("unknown_table", { cause: error });
    throw refuseUnknownApp(error, slug);
  }
}

/** A key's text, and when it ends. */
export type RowsKey = { text: string; endsAt: number };

/** @throws {Problem} unknown_app; forbidden — the app is disabled */
export async function openRows(
  deps: ConsoleDeps & { randomBytes: RandomBytes; keyPrefix: string },
  cookies: ShownCookies,
  { appId, scopes, usedFor }: { appId: string; scopes: readonly Scope[]; usedFor: string },
): Promise<RowsKey> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes);
  try {
    const [row] = await callConsole<{ result: number | null }>(deps, cookies, {
      name: "console_open_rows",
      values: [appId, key.keyId, toProofDigest(toProof(key.secret)), scopes.join(","), usedFor],
      passed: "$5, $6, decode($7, 'hex'), string_to_array($8, ','), $9",
      retry: "unsafe",
    });
    if (row?.result == null)
      throw new Problem("forbidden", {
        message: "This app is disabled: enable it to see and change its rows",
      });
    return { text: key.text, endsAt: row.result };
  } catch (error) {
    if (error instanceof SignalError && error.signal === SIGNALS.unknownApp)
      throw new Problem("unknown_app", { cause: error });
    throw error;
  }
}
