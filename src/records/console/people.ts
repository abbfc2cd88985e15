/** A person in the Console. The read is one call on the Console's login and returns no password and no link. @module */
import { isUuid } from "../../std/patterns.ts";
import type { ConsoleActor } from "../actions/action.ts";
import { unknownPerson } from "../actions/rejections.ts";
import { isConfirmed } from "../people/addresses.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { PageView } from "./apps.ts";
import { type ConsoleReads, readConsole } from "./reads.ts";

type Stored = ConsoleReads["show_person"];
export type PersonView = PageView<
  Omit<Stored, "person"> & {
    person: Omit<Stored["person"], "addressDigest" | "addressSecretId"> & {
      /** Whether this service set the address and so sends links to it. */
      isConfirmed: boolean;
    };
  }
>;

/** A person, and a page of their roles on apps: the roles after a slug, or only the role on `app`. @throws {Problem} not_found */
export async function showConsolePerson(
  deps: ConsoleActor & { identitySecrets: IdentitySecrets },
  { id, app, after = "", maxRows }: { id: string; app?: string; after?: string; maxRows: number },
): Promise<PersonView> {
  // A malformed id belongs to no person.
  if (!isUuid(id)) throw unknownPerson();
  const values = { person: id, app_slug: app, after_slug: after, max_rows: maxRows };
  const page = await readConsole(deps, "show_person", values);
  const { addressDigest: digest, addressSecretId: secretId, ...person } = page.person;
  const stored = { userId: person.id, email: person.email, digest, secretId };
  const isAddressConfirmed = isConfirmed(deps.identitySecrets, stored);
  return { ...page, person: { ...person, isConfirmed: isAddressConfirmed } };
}
