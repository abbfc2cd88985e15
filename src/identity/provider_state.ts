/**
 * What a browser carries from the start of a sign-in with a provider to its end, in a cookie that no other host can read or
 * plant, and that nobody can read or make without the service's secret. What it says is checked again at the end.
 *
 * @module
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import * as v from "valibot";
import type { IdentitySecret, IdentitySecrets } from "../accounts/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export const STATE_COOKIE = "__Host-rowhouse_oidc";
/** How long a person may take at the provider. */
export const STATE_LIFE_S = 600;

const ReturnTo = v.variant("kind", [
  v.object({ kind: v.literal("account") }),
  v.object({ kind: v.literal("app"), slug: v.string(), redirectUri: v.string() }),
  v.object({ kind: v.literal("console"), path: v.string() }),
  v.object({ kind: v.literal("links") }),
]);
const ProviderState = v.object({
  provider: v.string(),
  issuer: v.string(),
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  startedAtS: v.number(),
  returnTo: ReturnTo,
  /** Whom to link, where that is what it is for. */
  linkUserId: v.optional(v.string()),
});

/** Where a person goes after it. */
export type ReturnTo = v.InferOutput<typeof ReturnTo>;
export type ProviderState = v.InferOutput<typeof ProviderState>;

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };

/** The `Set-Cookie` header that starts a sign-in; one under way in the same browser ends. */
export function toStateCookie(deps: SealDeps, state: ProviderState): string {
  return toSetCookie(STATE_COOKIE, seal(deps, state), { path: "/", maxAgeS: STATE_LIFE_S });
}

export function clearState(): string {
  return toSetCookie(STATE_COOKIE, "", { path: "/", maxAgeS: 0 });
}

/** The sign-in that this browser has started, unless that was too long ago. */
export function readState(
  request: Request,
  { identitySecrets, now }: { identitySecrets: IdentitySecrets; now: () => number },
): ProviderState | undefined {
  const [text, ...more] = readCookies(request.headers.get("cookie"), STATE_COOKIE);
  if (text === undefined || more.length > 0) return undefined;
  for (const by of identitySecrets.all) {
    const state = unseal(by, text);
    if (state === undefined) continue;
    return now() / 1000 - state.startedAtS < STATE_LIFE_S ? state : undefined;
  }
  return undefined;
}

function seal({ identitySecrets, randomBytes }: SealDeps, state: ProviderState): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, toKey(identitySecrets.current), iv);
  const sealed = [iv, cipher.update(JSON.stringify(state), "utf8"), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString("base64url");
}

function unseal(by: IdentitySecret, text: string): ProviderState | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, toKey(by), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const opened = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    const json: unknown = JSON.parse(Buffer.concat([opened, decipher.final()]).toString("utf8"));
    return v.parse(ProviderState, json);
  } catch {
    return undefined; // not made with this secret, or by another release
  }
}

function toKey(by: IdentitySecret): Uint8Array {
  return by.prove("provider state");
}
