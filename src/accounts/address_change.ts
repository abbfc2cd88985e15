/** Another address of a person, as operators set it. @module */
import { call, type Database, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { toAddressValues } from "./addresses.ts";
import { OPERATOR } from "./audit.ts";
import { readEmail } from "./email.ts";
import { findFaults, refuseFor } from "./faults.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import { toUserRefusal, unknownUser } from "./users.ts";

/** The address now, and the new one. */
type Texts = { email: string; newEmail: string };

/**
 * Gives a person another address; returns both. Links that set the password end, an invitation's too.
 *
 * @throws {Problem} invalid_request — what is malformed, all at once; nobody has the address, or somebody the new one
 */
export async function changeEmail(
  deps: { admin: Database; identitySecrets: IdentitySecrets },
  texts: Texts,
): Promise<{ email: string; before: string }> {
  const { email: before, newEmail: email } = readBoth(texts);
  const id = await findChanging(deps, { email: before, newEmail: email });
  const values = {
    person_id: id,
    new_mail: email,
    ...toAddressValues(deps.identitySecrets, id, email),
    who: OPERATOR,
  };
  await call(deps.admin, "change_email", values, {
    reject: (error) => toAddressRefusal(error, { email: before, newEmail: email }),
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
async function findChanging(
  { admin }: { admin: Database },
  { email, newEmail }: Texts,
): Promise<string> {
  const found = await call(admin, "find_addresses", { mails: [email, newEmail] });
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

/** What a person is told whose change of an address failed. */
export function toAddressRefusal(error: unknown, { email, newEmail }: Texts): unknown {
  if (error instanceof ViolationError && error.violation.kind === "unique") return taken(newEmail);
  return toUserRefusal(error, email);
}
