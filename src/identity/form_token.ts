/**
 * Form tokens: a form is accepted only with the pages' exact `Origin` and a token derived from a cookie that no other host
 * can read or plant. The sign-in form is bound to a cookie of its own, the others to the session.
 *
 * @module
 */

import { isSecretText, makeSecret } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isEqualText } from "../std/is_equal_text.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { IDENTITY_COOKIE } from "./cookies.ts";
import { type IdentitySettings, isOwnOrigin } from "./settings.ts";

const FORM_COOKIE = "__Host-rowhouse_form";
export const TOKEN_FIELD = "form_token";

/** What a form's token is bound to: a cookie of its own, or the session that shows the form. */
export type FormBinding = "form" | "session";

/** The token for a form that is about to be shown, and the cookie that it needs, unless the browser already has it. */
export function makeFormToken(
  request: Request,
  randomBytes: RandomBytes,
): { token: string; cookies: string[] } {
  // An existing one is kept: a second tab must not invalidate the first one's form.
  const kept = readBound(request, "form");
  const value = kept ?? makeSecret(randomBytes);
  const cookies = kept === undefined ? [toSetCookie(FORM_COOKIE, value, { path: "/" })] : [];
  return { token: toToken("form", value), cookies };
}

/** The token for a form that is only shown to signed-in people. */
export function toSessionToken(request: Request): string {
  return toToken("session", readBound(request, "session") ?? "");
}

/** @throws {Problem} forbidden — another site sent the form, or it is older than its cookie */
export function checkForm(
  request: Request,
  settings: IdentitySettings,
  form: { fields: ReadonlyMap<string, string>; binding: FormBinding },
): void {
  const bound = readBound(request, form.binding);
  const given = form.fields.get(TOKEN_FIELD);
  if (
    isOwnOrigin(request, settings) &&
    bound !== undefined &&
    given !== undefined &&
    isEqualText(given, toToken(form.binding, bound))
  )
    return;
  throw new Problem("forbidden", {
    message: "This form was not sent from its own page, or it was open for too long",
  });
}

function readBound(request: Request, binding: FormBinding): string | undefined {
  const name = binding === "form" ? FORM_COOKIE : IDENTITY_COOKIE;
  const [value, ...more] = readCookies(request.headers.get("cookie"), name);
  if (value === undefined || more.length > 0) return undefined;
  return binding === "session" || isSecretText(value) ? value : undefined;
}

function toToken(binding: FormBinding, value: string): string {
  return new Bun.CryptoHasher("sha256")
    .update(`rowhouse form\n${binding}\n${value}`)
    .digest("base64url");
}
