/** Grants: one role per person and app, granted and revoked by operators and administrators. @module */
import { call, type Database, SIGNALS, SignalError, ViolationError } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import { ROLE_LABELS } from "../../std/stored_text.ts";
import { type Actor, callAsOperator, runAction } from "../actions/action.ts";
import { rejectFor } from "../actions/issues.ts";
import { unknownApp, unknownUser } from "../actions/rejections.ts";
import { toAskedSlug } from "../apps/keys.ts";
import { isAppRole } from "./app_role.ts";
import { readEmail } from "./email.ts";

export type GrantOptions = { email: string; slug: string; role: string };

/**
 * Grants a role on an app, and replaces the previous role.
 *
 * @throws {Problem} invalid_request — every malformed value, and an unknown address; unknown_app
 */
export async function grantRole(
  actor: Actor,
  { email: text, slug, role }: GrantOptions,
): Promise<void> {
  const [ofEmail, ofRole] = [() => readEmail(text), () => checkRole(role)].map(findProblem);
  const email = ofEmail === undefined ? readEmail(text) : NO_EMAIL;
  // Only the database knows the people and the apps: it reports unknown ones together with malformed values.
  const new_role = ofRole === undefined ? role : null;
  const values = { email, app_slug: toAskedSlug(slug), new_role };
  await runAction(actor, "grant_role", values, (error) => {
    const ofApp = unknownApp(slug, { isInBrowser: "cookies" in actor });
    const unknown = findUnknown(error, { email, ofApp });
    const isOnlyRole = error instanceof ViolationError && ofRole !== undefined;
    if (unknown !== undefined || isOnlyRole)
      return toProblem([ofEmail, ...(unknown ?? []), ofRole]);
    return undefined;
  });
}

/** An address that no user has: the database rejects the call and reports whether the app exists. */
const NO_EMAIL = "";

function findProblem(check: () => unknown): Problem | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The problems of an unknown address and an unknown app; `undefined` for another error. */
function findUnknown(
  error: unknown,
  { email, ofApp }: { email: string; ofApp: Problem },
): Problem[] | undefined {
  if (!(error instanceof SignalError)) return undefined;
  if (error.signal === SIGNALS.unknownApp) return [ofApp];
  if (error.signal !== SIGNALS.unknownUser) return undefined;
  const ofUser = email === NO_EMAIL ? [] : [unknownUser(email)];
  return error.detail === "unknown app" ? [...ofUser, ofApp] : ofUser;
}

function toProblem(found: readonly (Problem | undefined)[]): Problem {
  const problems = found.filter((problem) => problem !== undefined);
  const [only] = problems;
  if (only !== undefined && problems.length === 1) return only;
  const details = problems.map(({ message }) => ({ path: "", message }));
  return rejectFor(details);
}

/** @throws {Problem} invalid_request — the text cannot be a role on an app */
export function checkRole(role: string): void {
  if (isAppRole(role)) return;
  throw new Problem("invalid_request", {
    message: `Cannot grant the role ${quote(role)}: must be ${ROLE_LABELS}, and super_admin is a Console role`,
  });
}

/**
 * Revokes the role on an app. Returns whether there was one.
 *
 * @throws {Problem} invalid_request — no one has this address; unknown_app
 */
export async function revokeRole(
  actor: Actor,
  { slug, ...options }: Omit<GrantOptions, "role"> & { id?: string },
): Promise<boolean> {
  const email = readEmail(options.email);
  const values = { email, person: options.id, app_slug: slug };
  return await runAction(actor, "revoke_role", values);
}

export type ClaimedGrant = { email: string; app: string; role: string };

/** The roles that the claims of a provider gave, by app and address. */
export async function listClaimedGrants(
  { admin }: { admin: Database },
  provider: string,
): Promise<ClaimedGrant[]> {
  return await call(admin, "list_claimed_grants", { by_provider: provider });
}

/** Revokes all roles from the provider's claims, even if the provider is not set up. Returns the revoked roles. */
export async function revokeClaimedRoles(
  { admin }: { admin: Database },
  provider: string,
): Promise<ClaimedGrant[]> {
  return await callAsOperator({ admin }, "revoke_claimed_roles", { by_provider: provider });
}
