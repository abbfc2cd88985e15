/**
 * The callback of a provider. It accepts each sign-in once, from the browser and for the provider that it started with. The
 * destination is checked again first. The session is created as after a password.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import { redirect } from "../../pages/mod.ts";
import { linkOwnProvider } from "../../records/account_settings/mod.ts";
import { NotSignedIn } from "../../records/actions/mod.ts";
import { makeClaimedRecords } from "../../records/people/mod.ts";
import {
  beginProviderSignIn,
  finishProviderSignIn,
  type Linked,
  recordRejectedSignIn,
} from "../../records/sessions/mod.ts";
import { isEqualText } from "../../std/secrets.ts";
import { type Admitted, admit, redirectAdmitted } from "../admit.ts";
import { readDeviceCookie } from "../cookies.ts";
import { type PageDeps, readSessionOfPage, toActor } from "../page_deps.tsx";
import { PATHS } from "../paths.ts";
import { CLOCK_TOLERANCE_S, type Provider } from "../providers.ts";
import { checkReturnTo, needsFresh, toReturnQuery } from "../return_to.ts";
import {
  clearChoice,
  endState,
  exchange,
  type ProviderState,
  readStateReturn,
  readStates,
  readStateText,
  type Signed,
  toChoice,
} from "./exchange.ts";
import { findRemedy } from "./failure.ts";
import {
  PROVIDER_TEXTS,
  type ProviderRejection,
  respondWithProviderPage,
  respondWithThrottle,
} from "./pages.tsx";
import { findPerson, type ReadRoles, readClaimedRoles } from "./person.ts";
import { findProvider, toCallback } from "./start.ts";

/** @throws {Problem} unknown_route; unknown_app; invalid_request — the app no longer has the return address */
export async function handleProviderCallback(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const provider = findProvider(deps, context);
  const state = readOwnState(deps, context, provider);
  if (state === undefined) {
    const parameter = new URLSearchParams(context.query).get("state") ?? "";
    return await respondWithStale(deps, context, readStateReturn(parameter, deps));
  }
  const { location, back } = await checkReturnTo(deps, context, state.returnTo);
  const { address } = context;
  const attempt = await beginProviderSignIn(deps, { state: state.state, address });
  if (attempt.waitS > 0) return respondWithThrottle(deps, attempt.waitS, back);
  if (!attempt.isFirst) return await respondWithStale(deps, context, state.returnTo);
  const callback = toCallback(deps, provider);
  const { query } = context;
  const result = await exchange(provider, { callback, query, state, now: deps.now });
  const { request } = context;
  const cookies = [endState(request, deps, state), ...clearChoice(request)];
  const arrival = { provider, state, location, back, address, cookies };
  if (result.kind !== "right")
    return await reject(deps, arrival, { rejection: result.kind, reason: result.reason });
  return await signInAs(deps, context, { ...arrival, signed: result.signed });
}

/** The sign-in that this browser started with this provider; `undefined` if `state` does not match. */
function readOwnState(
  deps: PageDeps,
  { request, query }: RequestContext,
  { settings: { name, issuer } }: Provider,
): ProviderState | undefined {
  const [given = "", ...more] = new URLSearchParams(query).getAll("state");
  if (more.length > 0) return undefined;
  const text = readStateText(given);
  const state = readStates(request, deps).find((started) => isEqualText(text, started.state));
  return state?.provider === name && state.issuer === issuer ? state : undefined;
}

/**
 * Signed-in people reach their page, such as after a reload, or if they signed in in another tab. Not audited, and the cookie is
 * not cleared: any other site can send a browser here.
 */
async function respondWithStale(
  deps: PageDeps,
  context: RequestContext,
  returnTo: ProviderState["returnTo"] | undefined,
): Promise<Response> {
  if (returnTo === undefined)
    return respondWithProviderPage({ ...PROVIDER_TEXTS.stale(), back: PATHS.login });
  const { location, back } = await checkReturnTo(deps, context, returnTo);
  const { visitor } = await readSessionOfPage(deps, context);
  if (visitor !== undefined) return redirect(location);
  return respondWithProviderPage({ ...PROVIDER_TEXTS.stale(), back });
}

type Arrival = {
  provider: Provider;
  state: ProviderState;
  location: string;
  back: string;
  address: string;
  /** Ends the sign-in in the browser. */
  cookies: readonly string[];
};

async function signInAs(
  deps: PageDeps,
  context: RequestContext,
  arrival: Arrival & { signed: Signed },
): Promise<Response> {
  const { provider, state, signed, location } = arrival;
  if (state.linkUserId !== undefined)
    return await linkAs(deps, context, { ...arrival, linkUserId: state.linkUserId });
  if (needsFresh(state.returnTo) && !isFresh(signed, state))
    return await reject(deps, arrival, { rejection: "not_fresh" });
  const found = await findPerson(deps, provider.settings, signed);
  if ("rejection" in found) return await reject(deps, arrival, found);
  const claimed = await readClaimedRoles(provider.settings, signed).catch(() => undefined);
  // Fail without the complete claims: otherwise the person could keep roles that the provider no longer grants.
  if (claimed === undefined)
    return await reject(deps, arrival, { rejection: "unavailable", reason: "userinfo" });
  const admitted = await admitLinked(deps, context, { ...arrival, linked: found.linked, claimed });
  if (admitted === undefined) return await reject(deps, arrival, { rejection: "unlinked" });
  const cookies = [...admitted.cookies, ...arrival.cookies];
  const action = toReturnQuery(state.returnTo);
  return redirectAdmitted({ ...admitted, cookies }, { location, action });
}

/** Links the account to the person who started the sign-in and who must still be signed in. */
async function linkAs(
  deps: PageDeps,
  context: RequestContext,
  arrival: Arrival & { signed: Signed; linkUserId: string },
): Promise<Response> {
  const { provider, signed, linkUserId: userId, location } = arrival;
  const outcome = await linkOwnProvider(
    { ...deps, ...toActor(deps, context) },
    { issuer: signed.issuer, subject: signed.subject, userId, provider: provider.settings.name },
  ).catch(toOtherSession);
  if (outcome !== "done") return await reject(deps, arrival, { rejection: outcome, userId });
  return redirect(`${location}?done=link`, { cookies: arrival.cookies });
}

function toOtherSession(error: unknown): "other_session" {
  if (error instanceof NotSignedIn) return "other_session";
  throw error;
}

/** Whether the person authenticated at the provider after this sign-in started. */
function isFresh({ authTimeS }: Signed, { startedAtS }: ProviderState): boolean {
  return authTimeS !== undefined && authTimeS >= startedAtS - CLOCK_TOLERANCE_S;
}

type SessionOf = { signed: Signed; linked: Linked; claimed: ReadRoles };

async function admitLinked(
  deps: PageDeps,
  { request, address }: RequestContext,
  { provider, state, signed, linked, claimed: read }: Arrival & SessionOf,
): Promise<Admitted | undefined> {
  const { userId } = linked;
  const { name } = provider.settings;
  const claimed = await toRecords(deps, { provider: name, userId, claimed: read });
  const device = readDeviceCookie(request, deps.identitySecrets);
  return await admit(deps, request, userId, (start) =>
    finishProviderSignIn(deps, {
      ...{ issuer: signed.issuer, subject: signed.subject, linked, provider: name },
      ...start,
      ...{ provenAtS: signed.authTimeS, address, state: state.state, claimed },
      isKnownDevice: device?.userIds.includes(userId) === true,
    }),
  );
}

type Claimed = { provider: string; userId: string; claimed: ReadRoles };

/** The stored records of the roles. Roles on unknown and disabled apps, and withheld claims, are logged for operators. */
async function toRecords(deps: PageDeps, { provider, userId, claimed: read }: Claimed) {
  const { roles: claimed, preserved, withheld, absent } = read;
  const found = await makeClaimedRecords(deps, { userId, provider, claimed, preserved, withheld });
  if (withheld.length > 0)
    deps.log("warn", "claims withheld", {
      message: `${provider} did not send ${withheld.join(", ")}: earlier roles stay. Let it send fewer groups, such as the groups of this application`,
    });
  if (absent.length > 0)
    deps.log("info", "claims absent", {
      message: `${provider} did not send ${absent.join(", ")}: roles by it are revoked`,
    });
  const issues = [
    ...found.unknown.map((slug) => `${slug} does not exist`),
    ...found.disabled.map((slug) => `${slug} is disabled`),
  ];
  if (issues.length > 0)
    deps.log("warn", "roles in vain", {
      message: `By claims of ${provider}: ${issues.join(", ")}`,
    });
  return found.records;
}

/** After these, another account at the provider can succeed. */
const CHOICES: readonly ProviderRejection[] = [
  "unlinked",
  "disabled",
  "denied",
  "in_use",
  "another",
];

type DeniedSignIn = { rejection: ProviderRejection; reason?: string; userId?: string | undefined };

async function reject(
  deps: PageDeps,
  { provider, back, address, cookies }: Arrival,
  { rejection, reason = rejection, userId }: DeniedSignIn,
): Promise<Response> {
  const { name, label } = provider.settings;
  await recordRejectedSignIn(deps, { provider: name, reason, userId, from: address });
  const remedy = findRemedy(reason, `OIDC_${name.toUpperCase().replaceAll("-", "_")}`);
  if (remedy !== undefined)
    deps.log("warn", "provider rejected", { message: `${name}: ${reason}: ${remedy}` });
  return respondWithProviderPage({
    ...PROVIDER_TEXTS[rejection](label),
    back,
    cookies: CHOICES.includes(rejection) ? [...cookies, toChoice(name)] : cookies,
  });
}
