/** Changes of the address of a person by operators and administrators. @module */
import { type Actor, runAction } from "../actions/action.ts";
import { findIssues, rejectFor } from "../actions/issues.ts";
import { unknownUser, usedEmail } from "../actions/rejections.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { proveByEach, toAddressValues } from "./addresses.ts";
import { readEmail } from "./email.ts";

/** The current and the new address, and the person's id if the caller knows it. */
type Texts = { email: string; newEmail: string; id?: string };

/**
 * Changes the address of a person; returns both addresses. Password links and the link of an invitation end.
 *
 * @throws {Problem} invalid_request — lists all malformed values; the address is unknown, or the new address is in use;
 *   this service did not write the stored address: the account can belong to another person
 */
export async function changeEmail(
  deps: Actor & { identitySecrets: IdentitySecrets },
  texts: Texts,
): Promise<{ email: string; before: string }> {
  const { email: before, newEmail: email } = readBoth(texts);
  const { id, proofs } = await findChanging(deps, { email: before, newEmail: email });
  const digest = toAddressValues(deps.identitySecrets, id, email);
  // Messages name the person by the address.
  const values = { person: texts.id ?? id, proofs, email: before, new_email: email, ...digest };
  await runAction(deps, "change_email", values);
  return { email, before };
}

/** @throws {Problem} invalid_request — with every issue */
function readBoth({ email, newEmail }: Texts) {
  const issues = [email, newEmail].flatMap((text) => findIssues(() => readEmail(text), ""));
  if (issues.length > 0) throw rejectFor(issues);
  return { email: readEmail(email), newEmail: readEmail(newEmail) };
}

/**
 * The person with the address, and the proofs of the address.
 *
 * @throws {Problem} invalid_request — the address is unknown, or the new address is in use; lists both
 */
async function findChanging(
  actor: Actor & { identitySecrets: IdentitySecrets },
  { email, newEmail }: Texts,
): Promise<{ id: string; proofs: string[] }> {
  const found = await runAction(actor, "find_addresses", { mails: [email, newEmail] });
  const person = found.find((user) => user.email === email);
  const isInUse = found.some((user) => user.email === newEmail && user.email !== email);
  if (person !== undefined && !isInUse)
    return { id: person.id, proofs: proveByEach(actor.identitySecrets, person.id, email) };
  if (person !== undefined) throw usedEmail(newEmail);
  if (!isInUse) throw unknownUser(email);
  const details = [unknownUser(email), usedEmail(newEmail)].map(({ message }) => ({
    path: "",
    message,
  }));
  throw rejectFor(details);
}
