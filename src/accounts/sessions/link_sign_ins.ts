/** The database part of a sign-in by a link that sets the password. @module */
import { call, type Database } from "../../db/mod.ts";
import type { PasswordLink } from "../people/password_links.ts";
import type { PasswordRecord } from "../secrets/passwords.ts";
import type { NewPending } from "./pending_sign_ins.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import type { Admission, FactorRule } from "./sign_in_attempts.ts";

/** The new password, and the browser's new session. */
export type LinkSignIn = Omit<SessionStart, "isKnownDevice"> & {
  password: PasswordRecord;
  /** Replaces the session if the person has a second factor. */
  pending: NewPending;
  factorRule: FactorRule;
  address: string;
};

/** Sets the password, uses up the link and signs the person in; `wrong` if the link is not valid. */
export async function signInByLink(
  deps: { db: Database },
  link: PasswordLink,
  { password, pending, ...start }: LinkSignIn,
): Promise<Admission> {
  const outcome = await call(deps.db, "sign_in_by_link", {
    link_id: link.id,
    presented_proof: Buffer.from(link.proof).toString("hex"),
    fresh_hash: password.hash,
    fresh_digest: password.digest,
    fresh_secret_id: password.secretId,
    presented: start.presented,
    ...toSessionValues(start),
    client_address: start.address,
    pending_id: pending.id,
    pending_digest: pending.digest,
    factor_rule: start.factorRule,
  });
  return outcome as Admission;
}
