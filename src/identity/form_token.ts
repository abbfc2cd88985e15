/**
 * Form tokens against CSRF. A form requires the pages' exact `Origin` and a token derived from a cookie that no other host
 * can read or plant. The sign-in form has its own cookie; other forms are bound to the session.
 *
 * @module
 */

import { TOKEN_FIELD } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { isSecretText, makeSecret } from "../records/secrets/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { isEqualText } from "../std/secrets.ts";
import { IDENTITY_COOKIE, makeHostCookie } from "./cookies.ts";
import { type IdentitySettings, isOwnOrigin } from "./settings.ts";

const FORM = makeHostCookie("__Host-rowhouse_form");
const IDENTITY = makeHostCookie(IDENTITY_COOKIE);

/** The cookie that a form's token is bound to: the form's own cookie, or the session. */
export type FormBinding = "form" | "session";

/** The token for a form, and its cookie unless the browser already has it. */
export function makeFormToken(
  request: Request,
  randomBytes: RandomBytes,
): { token: string; cookies: string[] } {
  // Reuse an existing cookie: a second tab must not invalidate the form in the first tab.
  const stored = readBound(request, "form");
  const value = stored ?? makeSecret(randomBytes);
  const cookies = stored === undefined ? [FORM.set(value)] : [];
  return { token: toToken("form", value), cookies };
}

export function toSessionToken(request: Request): string {
  return toToken("session", readBound(request, "session") ?? "");
}

/** Another site sent the form, or the form token does not match the cookie. */
export class FormRejected extends Problem {
  readonly isOfOtherSite: boolean;
  constructor(isOfOtherSite: boolean) {
    super("forbidden", { message: "The form came from another page, or its page expired" });
    this.isOfOtherSite = isOfOtherSite;
  }
}

/** @throws {FormRejected} another site sent the form, or the token does not match the cookie */
export function checkForm(
  request: Request,
  settings: IdentitySettings,
  form: { fields: ReadonlyMap<string, string>; binding: FormBinding },
): void {
  const given = form.fields.get(TOKEN_FIELD);
  if (!isOwnOrigin(request, settings)) throw new FormRejected(true);
  if (!hasToken(request, { given, binding: form.binding })) throw new FormRejected(false);
}

/** Whether a token belongs to the browser's cookie. A form also needs its origin: see {@linkcode checkForm}. */
export function hasToken(
  request: Request,
  { given, binding }: { given: string | undefined; binding: FormBinding },
): boolean {
  const bound = readBound(request, binding);
  return bound !== undefined && given !== undefined && isEqualText(given, toToken(binding, bound));
}

function readBound(request: Request, binding: FormBinding): string | undefined {
  if (binding === "session") return IDENTITY.read(request);
  const value = FORM.read(request);
  return value !== undefined && isSecretText(value) ? value : undefined;
}

function toToken(binding: FormBinding, value: string): string {
  return new Bun.CryptoHasher("sha256")
    .update(`rowhouse form\n${binding}\n${value}`)
    .digest("base64url");
}
