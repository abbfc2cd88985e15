/** Reads for pages about people. Each read is one call on the Console's login and returns no password and no link. @module */
import { isUuid } from "../../std/is_uuid.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { unknownPerson } from "../actions/rejections.ts";
import { isConfirmed } from "../people/addresses.ts";
import type { Invitation } from "../people/invitations.ts";
import type { FailedSignIns, Grant, ListedUser, SessionRecord } from "../people/people_lists.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { PageView } from "./apps.ts";

export type PersonView = PageView<{
  person: ListedUser & {
    /** When the unused password link expires. */
    linkEndsAt: string | null;
    invitation: Invitation | null;
    /** Whether the person has an authenticator app. */
    hasTotp: boolean;
    passkeys: number;
    /** Remaining codes. */
    recoveryCodes: number;
    /** Wrong passwords since the last correct one. */
    failedSignIns: FailedSignIns | null;
    /** Whether the person is the only super_admin who can sign in. */
    isLast: boolean;
    /** Whether this service set the address and so sends links to it. */
    isConfirmed: boolean;
  };
  grants: (Grant & { app: string; isDisabled: boolean })[];
  /** The latest 100 live sessions. */
  sessions: (SessionRecord & {
    device: string | null;
    address: string | null;
    isMine: boolean;
  })[];
}>;

type StoredPerson = Omit<PersonView["person"], "isConfirmed"> & {
  addressDigest: string | null;
  addressSecretId: string | null;
};

/** A person, and a page of their roles on apps: the roles after a slug, or only the role on `app`. @throws {Problem} not_found */
export async function showConsolePerson(
  deps: ConsoleActor & { identitySecrets: IdentitySecrets },
  { id, app, after = "", maxRows }: { id: string; app?: string; after?: string; maxRows: number },
): Promise<PersonView> {
  // A malformed id belongs to no person.
  if (!isUuid(id)) throw unknownPerson();
  const values = { person: id, of_app: app, after_slug: after, max_rows: maxRows };
  const found = await callConsole(deps, "console_show_person", values);
  const page = found as PersonView & { person: StoredPerson };
  const { addressDigest: digest, addressSecretId: secretId, ...person } = page.person;
  const stored = { userId: person.id, email: person.email, digest, secretId };
  const isAddressConfirmed = isConfirmed(deps.identitySecrets, stored);
  return { ...page, person: { ...person, isConfirmed: isAddressConfirmed } };
}

export type AppPerson = ListedUser & Grant;
