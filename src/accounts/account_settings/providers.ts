/** The providers linked to an account. Each change authenticates the caller by both cookies. @module */
import { call, type Database } from "../../db/mod.ts";
import { callAuthenticated, type VisitorActor } from "../actions/action.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { makeLinkRecord, type Subject } from "../sessions/provider_links.ts";
import type { AccountSettings } from "./account.ts";

/** `in_use`: the link belongs to another person. `another`: the person has linked another account of the provider. */
export type LinkOutcome = "done" | "other_session" | "too_old" | "in_use" | "another";

/** Links a provider to the signed-in person, who must still be `userId`. @throws {NotSignedIn} */
export async function linkOwnProvider(
  deps: VisitorActor & { identitySecrets: IdentitySecrets },
  { userId, provider, ...linked }: Subject & { userId: string; provider: string },
): Promise<LinkOutcome> {
  const { digest, secretId } = makeLinkRecord(deps, linked, userId);
  const outcome = await callAuthenticated(deps, "link_provider", {
    expected: userId,
    link_issuer: linked.issuer,
    link_subject: linked.subject,
    new_digest: digest,
    new_secret_id: secretId,
    provider,
  });
  return outcome as LinkOutcome;
}

/** Unlinks a provider from the signed-in person, unless it is the last way to sign in. @throws {NotSignedIn} */
export async function unlinkOwnProvider(
  deps: VisitorActor,
  { issuer, provider }: { issuer: string; provider: string },
): Promise<"done" | "last"> {
  const values = { link_issuer: issuer, provider };
  return (await callAuthenticated(deps, "unlink_provider", values)) as "done" | "last";
}

export type OwnLinks = {
  linkedAt: ReadonlyMap<string, string>;
  /** Whether the session can link a provider; the database checks it again. */
  isFresh: boolean;
};

export async function readOwnLinks(
  { db }: { db: Database },
  { id, sessions }: Pick<AccountSettings, "id" | "sessions">,
): Promise<OwnLinks> {
  const own = sessions.find(({ isOwn }) => isOwn);
  const links = await call(db, "read_own_links", { who: id, own: own?.id ?? "" });
  const { linkedAt, isFresh } = links as {
    linkedAt: [issuer: string, at: string][];
    isFresh: boolean;
  };
  return { linkedAt: new Map(linkedAt), isFresh };
}
