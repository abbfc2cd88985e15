/**
 * Keys that administrators issue, roll and revoke from a browser. The page names the new key before it is made, so that a
 * form that is sent twice makes one key: nobody can be shown its secret again.
 *
 * @module
 */
import { ViolationError } from "../db/mod.ts";
import type { Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import { GRACES, type Grace } from "./key_life.ts";
import { toProof, toProofDigest } from "./key_proof.ts";
import { makeKeyText } from "./key_text.ts";
import { unknownApp } from "./keys.ts";
import { makeIdText } from "./secret_text.ts";
import type { ShownCookies } from "./shown_call.ts";

type KeyDeps = ConsoleDeps & { randomBytes: RandomBytes; keyPrefix: string };

/** The id of a key that is about to be made. */
export function makeKeyId(randomBytes: RandomBytes): string {
  return makeIdText(randomBytes);
}

export type IssuedByConsole = { keyId: string; text: string };

/** @throws {Problem} unknown_app; invalid_request — the form was sent before */
export async function issueKeyByConsole(
  deps: KeyDeps,
  cookies: ShownCookies,
  options: {
    slug: string;
    keyId: string;
    name: string;
    scopes: readonly Scope[];
    expiresAt: Date | undefined;
  },
): Promise<IssuedByConsole> {
  const { slug, keyId, name, scopes, expiresAt } = options;
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes, keyId);
  const values = {
    app_slug: slug,
    new_key_id: key.keyId,
    key_name: name,
    new_digest: toProofDigest(toProof(key.secret)),
    key_scopes: scopes,
    key_expires_at: expiresAt,
  };
  if (!(await callConsole(deps, cookies, "console_issue_key", values, refuseSecond)))
    throw unknownApp(slug);
  return { keyId, text: key.text };
}

/** A copy of a key in force. @throws {Problem} not_found; invalid_request — the form was sent before */
export async function rollKeyByConsole(
  deps: KeyDeps,
  cookies: ShownCookies,
  options: { slug: string; oldKeyId: string; keyId: string; grace: Grace },
): Promise<IssuedByConsole> {
  const { slug, oldKeyId, keyId, grace } = options;
  const copy = makeKeyText(deps.keyPrefix, deps.randomBytes, keyId);
  const values = {
    app_slug: slug,
    old_key_id: oldKeyId,
    new_key_id: copy.keyId,
    new_digest: toProofDigest(toProof(copy.secret)),
    grace_s: GRACES[grace],
  };
  const rows = await callConsole(deps, cookies, "console_roll_key", values, refuseSecond);
  if (rows.length === 0) throw notInForce();
  return { keyId, text: copy.text };
}

/** @throws {Problem} not_found */
export async function revokeKeyByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, keyId }: { slug: string; keyId: string },
): Promise<void> {
  const values = { app_slug: slug, old_key_id: keyId };
  if (!(await callConsole(deps, cookies, "console_revoke_key", values))) throw notInForce();
}

function notInForce(): Problem {
  return new Problem("not_found", {
    message: "This app has no such key in force: it was revoked or has expired meanwhile",
  });
}

function refuseSecond(error: unknown): unknown {
  if (!(error instanceof ViolationError)) return error;
  return new Problem("invalid_request", {
    message:
      "This form was sent before: the key was made then, and is not shown again. Make another one, and revoke that one if nobody copied it",
  });
}
