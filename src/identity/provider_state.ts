/**
 * The state of sign-ins with a provider, in a sealed cookie: each tab of a browser can have one. Their content is checked again at
 * the end of the sign-in. The parameter `state` also has the destination, for callbacks that are opened later.
 *
 * @module
 */
import * as v from "valibot";
import { seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import { PROVIDER_STATE_LIFE_S } from "../std/limits.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { makeSealedCookie, type SealDeps, type UnsealDeps } from "./sealed_cookie.ts";

export const STATE_COOKIE = "__Host-rowhouse_oidc";

const ReturnTo = v.variant("kind", [
  v.object({ kind: v.literal("account") }),
  v.object({ kind: v.literal("app"), slug: v.string(), redirectUri: v.string() }),
  v.object({ kind: v.literal("console"), path: v.string() }),
  v.object({ kind: v.literal("own"), path: v.string() }),
]);
const STATE_ENTRIES = {
  provider: v.string(),
  issuer: v.string(),
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  startedAtS: v.number(),
  returnTo: ReturnTo,
  /** The person to link; `undefined` for a sign-in. */
  linkUserId: v.optional(v.string()),
};
const ProviderState = v.object(STATE_ENTRIES);
/** The latest sign-in, and earlier ones that can still be open in other tabs. */
const Pending = v.object({ ...STATE_ENTRIES, earlier: v.optional(v.array(ProviderState)) });

/** The destination after the sign-in. */
export type ReturnTo = v.InferOutput<typeof ReturnTo>;
export type ProviderState = v.InferOutput<typeof ProviderState>;

const COOKIE = makeSealedCookie({
  name: STATE_COOKIE,
  purpose: "provider state",
  schema: Pending,
  lifeS: PROVIDER_STATE_LIFE_S,
});

const CHOICE_COOKIE = "__Host-rowhouse_oidc_choice";

/** The provider whose account was rejected in this browser. */
export function readChoice(request: Request): string | undefined {
  return readCookies(request.headers.get("cookie"), CHOICE_COOKIE)[0];
}

/** The `Set-Cookie` header after which the next sign-in with the provider asks for an account. */
export function toChoice(provider: string): string {
  return toSetCookie(CHOICE_COOKIE, provider, { path: "/", maxAgeS: PROVIDER_STATE_LIFE_S });
}

/** Removes the choice from a browser that has one. */
export function clearChoice(request: Request): string[] {
  if (readChoice(request) === undefined) return [];
  return [toSetCookie(CHOICE_COOKIE, "", { path: "/", maxAgeS: 0 })];
}

/** Max sign-ins of a browser at a time. */
const MAX_PENDING = 4;
/** Browsers drop larger cookies. */
const MAX_COOKIE_CHARS = 4000;

/** The `Set-Cookie` header that starts a sign-in; of earlier sign-ins, it keeps as many as fit. */
export function toStateCookie(
  deps: SealDeps,
  state: ProviderState,
  earlier: readonly ProviderState[] = [],
): string {
  for (let count = Math.min(earlier.length, MAX_PENDING - 1); ; count--) {
    const cookie = COOKIE.set(deps, { ...state, earlier: earlier.slice(0, count) });
    if (count === 0 || cookie.length <= MAX_COOKIE_CHARS) return cookie;
  }
}

/** The sign-ins that this browser started, latest first, without expired ones. */
export function readStates(request: Request, deps: UnsealDeps): ProviderState[] {
  const { earlier = [], ...latest } = COOKIE.read(request, deps) ?? {};
  if (!("state" in latest)) return [];
  const fresh = earlier.filter(
    ({ startedAtS }) => deps.now() / 1000 - startedAtS < PROVIDER_STATE_LIFE_S,
  );
  return [latest, ...fresh];
}

/** The latest sign-in that this browser started; `undefined` if it expired. */
export function readState(request: Request, deps: UnsealDeps): ProviderState | undefined {
  return readStates(request, deps)[0];
}

/** The `Set-Cookie` header that ends a sign-in. */
export function endState(
  request: Request,
  deps: SealDeps & UnsealDeps,
  ended: ProviderState,
): string {
  const others = readStates(request, deps).filter(({ state }) => state !== ended.state);
  const [latest, ...earlier] = others;
  return latest === undefined ? COOKIE.clear() : toStateCookie(deps, latest, earlier);
}

/** Longer addresses could exceed a provider's limit. */
const MAX_SEALED_CHARS = 600;

/** The parameter `state` for a random text: with the destination, unless it is too long. */
export function toStateParameter(deps: SealDeps, state: string, returnTo: ReturnTo): string {
  const by = deps.identitySecrets.current;
  const sealing = { by, purpose: "provider state", owner: state } as const;
  const sealed = seal(sealing, JSON.stringify(returnTo), deps).toString("base64url");
  return sealed.length > MAX_SEALED_CHARS ? state : `${state}.${sealed}`;
}

/** The random text in the parameter `state`. */
export function readStateText(parameter: string): string {
  return parameter.split(".", 1)[0] ?? "";
}

/** The destination in the parameter `state`; `undefined` if this service did not seal it. */
export function readStateReturn(
  parameter: string,
  { identitySecrets }: Pick<UnsealDeps, "identitySecrets">,
): ReturnTo | undefined {
  const [owner = "", sealed = ""] = parameter.split(".");
  for (const by of identitySecrets.all) {
    const text = unseal({ by, purpose: "provider state", owner }, Buffer.from(sealed, "base64url"));
    const read = v.safeParse(ReturnTo, text === undefined ? undefined : tryParseJson(text));
    if (read.success) return read.output;
  }
  return undefined;
}
