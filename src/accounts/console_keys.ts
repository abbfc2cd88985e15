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
  const [row] = await once(() =>
    callConsole<{ result: boolean }>(deps, cookies, {
      name: "console_issue_key",
      passed: "$5, $6, $7, decode($8, 'hex'), string_to_array($9, ','), $10::text::timestamptz",
      values: [
        slug,
        key.keyId,
        name,
        toProofDigest(toProof(key.secret)),
        scopes.join(","),
        expiresAt?.toISOString() ?? null,
      ],
      retry: "unsafe",
    }),
  );
  if (row?.result !== true) throw unknownApp(slug);
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
  const rows = await once(() =>
    callConsole(deps, cookies, {
      name: "console_roll_key",
      passed: "$5, $6, $7, decode($8, 'hex'), $9",
      values: [slug, oldKeyId, copy.keyId, toProofDigest(toProof(copy.secret)), GRACES[grace]],
      retry: "unsafe",
    }),
  );
  if (rows.length === 0) throw notInForce();
  return { keyId, text: copy.text };
}

/** @throws {Problem} not_found */
export async function revokeKeyByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, keyId }: { slug: string; keyId: string },
): Promise<void> {
  const [row] = await callConsole<{ result: boolean }>(deps, cookies, {
    name: "console_revoke_key",
    values: [slug, keyId],
    retry: "unsafe",
  });
  if (row?.result !== true) throw notInForce();
}

function notInForce(): Problem {
  return new Problem("not_found", {
    message: "This app has no such key in force: it was revoked or has expired meanwhile",
  });
}

async function once<Result>(make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof ViolationError)) throw error;
    throw new Problem("invalid_request", {
      message:
        "This form was sent before: the key was made then, and is not shown again. Make another one, and revoke that one if nobody copied it",
    });
  }
}
