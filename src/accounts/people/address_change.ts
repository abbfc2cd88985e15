/** Another address of a person, as operators and administrators in the Console set it. @module */
import { ViolationError } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { findFaults, refuseFor } from "../actions/faults.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { toAddressValues } from "./addresses.ts";
import { readEmail } from "./email.ts";
import { toUserRefusal, unknownUser } from "./users.ts";

/** The address now, the new one, and the person's id where a page knows it. */
type Texts = { email: string; newEmail: string; id?: string };

/**
 * Gives a person another address; returns both. Links that set the password end, an invitation's too.
 *
 * @throws {Problem} invalid_request — what is malformed, all at once; nobody has the address, or somebody the new one
 */
export async function changeEmail(
  deps: Actor & { identitySecrets: IdentitySecrets },
  texts: Texts,
): Promise<{ email: string; before: string }> {
  const { email: before, newEmail: email } = readBoth(texts);
  const id = texts.id ?? (await findChanging(deps, { email: before, newEmail: email }));
  const values = {
    person_id: id,
    new_mail: email,
    ...toAddressValues(deps.identitySecrets, id, email),
  };
  await runAction(deps, "change_email", values, (error) => {
    const isTaken = error instanceof ViolationError && error.violation.kind === "unique";
    return isTaken ? taken(email) : toUserRefusal(error, before);
  });
  return { email, before };
}

/** @throws {Problem} invalid_request — with every fault */
function readBoth({ email, newEmail }: Texts) {
  const faults = [email, newEmail].flatMap((text) => findFaults(() => readEmail(text), ""));
  if (faults.length > 0) throw refuseFor(faults);
  return { email: readEmail(email), newEmail: readEmail(newEmail) };
}

/** Whose address it is. @throws {Problem} invalid_request — nobody has it, or somebody the new one: all at once */
async function findChanging(actor: Actor, { email, newEmail }: Texts): Promise<string> {
  const found = await runAction(actor, "find_addresses", { mails: [email, newEmail] });
  const id = found.find((one) => one.email === email)?.id;
  const isTaken = found.some((one) => one.email === newEmail && one.email !== email);
  if (id !== undefined && !isTaken) return id;
  if (id !== undefined) throw taken(newEmail);
  if (!isTaken) throw unknownUser(email);
  const details = [unknownUser(email), taken(newEmail)].map(({ message }) => ({
    path: "",
    message,
  }));
  throw refuseFor(details);
}

function taken(email: string): Problem {
  return new Problem("invalid_request", {
    message: `Cannot use the address ${email}: somebody has it`,
  });
}
