/** The database part of a sign-in by a link that sets the password. @module */
import { call, type Database } from "../../db/mod.ts";
import type { PasswordLink } from "../people/password_links.ts";
import type { PasswordRecord } from "../secrets/passwords.ts";
import { type Admission, type SignInStart, toSignInValues } from "./sign_in_attempts.ts";

/** The new password, and the browser's new session. */
export type LinkSignIn = Omit<SignInStart, "isKnownDevice"> & {
  password: PasswordRecord;
  address: string;
};

/** Sets the password, uses up the link and signs the person in; `wrong` if the link is not valid. */
export async function signInByLink(
  deps: { db: Database },
  link: PasswordLink,
  { password, address, ...start }: LinkSignIn,
): Promise<Admission> {
  const outcome = await call(deps.db, "sign_in_by_link", {
    link_id: link.id,
    presented_proof: Buffer.from(link.proof).toString("hex"),
    fresh_hash: password.hash,
    fresh_digest: password.digest,
    fresh_secret_id: password.secretId,
    ...toSignInValues(start),
    client_address: address,
  });
  return outcome as Admission;
}
