/**
 * Starts a sign-in with a provider: sets the state cookie and redirects to the provider. The entry is a link, not a form:
 * browsers apply `form-action` to every redirect after a form, and a provider can use several hosts. A link on another site
 * shows a page that asks first: a person with a session at the provider would otherwise be signed in without an action.
 *
 * @module
 */
import {
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { type RequestContext, readParameters } from "../../http/mod.ts";
import { redirect } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { hasToken, makeFormToken } from "../form_token.ts";
import type { PageDeps } from "../page_deps.tsx";
import { OIDC_PATH } from "../paths.ts";
import { type Provider, ProviderUnavailable } from "../providers.ts";
import {
  checkReturnTo,
  needsFresh,
  type ReturnTo,
  readReturnTo,
  toReturnQuery,
} from "../return_to.ts";
import { isFromOwnPage, type ProviderSettings } from "../settings.ts";
import { readChoice, readStates, toStateCookie, toStateParameter } from "./exchange.ts";
import { PROVIDER_TEXTS, respondWithProviderPage, respondWithQuestion } from "./pages.tsx";

/** The parameter of the link that a person follows after another site started the sign-in: the token of a form. */
const CHOSEN = "chosen";

/** Requests `auth_time`, which some providers send only on request. */
const FRESH = {
  max_age: "0",
  claims: JSON.stringify({ id_token: { auth_time: { essential: true } } }),
};

/** Redirects to the provider, or asks first. @throws {Problem} unknown_route; unknown_app; invalid_request — the destination is invalid */
export async function handleProviderStart(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const provider = findProvider(deps, context);
  const returnTo = readReturnTo(context.query);
  const { back } = await checkReturnTo(deps, context, returnTo);
  if (!isChosen(deps, context)) {
    const { token, cookies } = makeFormToken(context.request, deps.randomBytes);
    const { name, label } = provider.settings;
    const query = new URLSearchParams(toReturnQuery(returnTo));
    query.set(CHOSEN, token);
    return respondWithQuestion({ label, go: `${OIDC_PATH}/${name}?${query}`, back, cookies });
  }
  try {
    const { href, cookie } = await startAtProvider(deps, context, provider, { returnTo });
    return redirect(href, { cookies: [cookie] });
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error;
    const text = PROVIDER_TEXTS.unavailable(provider.settings.label);
    return respondWithProviderPage({ ...text, back });
  }
}

/** Whether the person chose this sign-in here: on a page of this service, or by its address. */
function isChosen({ identity }: PageDeps, { request, query }: RequestContext): boolean {
  if (isFromOwnPage(request, identity)) return true;
  const [, given] = [...readParameters(query)].find(([name]) => name === CHOSEN) ?? [];
  return hasToken(request, { given, binding: "form" });
}

/** The provider in the path. @throws {Problem} unknown_route */
export function findProvider({ providers }: PageDeps, { params }: RequestContext): Provider {
  const provider = providers.find(params["provider"]);
  if (provider === undefined) throw new Problem("unknown_route");
  return provider;
}

/** The provider's redirect URI. */
export function toCallback({ identity }: PageDeps, { settings }: Provider): string {
  const origin = identity.identityUrl ?? identity.publicUrl;
  if (origin === undefined) throw new Error("IDENTITY_URL is not set");
  return `${origin}${OIDC_PATH}/${settings.name}/callback`;
}

/**
 * After a rejected sign-in the person can choose another account: otherwise the provider would return the same account without
 * asking.
 */
function toPrompt({ name, prompt }: ProviderSettings, request: Request): { prompt?: string } {
  const chooses = readChoice(request) === name;
  const prompts = new Set([...(prompt ? [prompt] : []), ...(chooses ? ["select_account"] : [])]);
  return prompts.size === 0 ? {} : { prompt: [...prompts].join(" ") };
}

/** The authorization URL and its state cookie. @throws {ProviderUnavailable} */
export async function startAtProvider(
  deps: PageDeps,
  { request }: RequestContext,
  provider: Provider,
  purpose: { returnTo: ReturnTo; linkUserId?: string },
): Promise<{ href: string; cookie: string }> {
  const configuration = await provider.configure();
  const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: toCallback(deps, provider),
    scope: ["openid email profile", ...provider.settings.scopes].join(" "),
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state: toStateParameter(deps, state, purpose.returnTo),
    nonce,
    ...(needsFresh(purpose.returnTo) ? FRESH : {}),
    ...toPrompt(provider.settings, request),
  });
  const started = {
    provider: provider.settings.name,
    issuer: provider.settings.issuer,
    state,
    nonce,
    verifier,
    startedAtS: Math.floor(deps.now() / 1000),
    ...purpose,
  };
  const cookie = toStateCookie(deps, started, readStates(request, deps));
  return { href: url.href, cookie };
}
