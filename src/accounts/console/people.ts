/** Reads of pages about people, each one call on the Console's login. Never a password or a link. @module */
import { isUuid } from "../../std/is_uuid.ts";
import { type ConsoleDeps, callConsole, type PresentedCookies } from "../actions/action.ts";
import { unknownPerson } from "../actions/rejections.ts";
import { isConfirmed } from "../people/addresses.ts";
import type { Invitation } from "../people/invitations.ts";
import type { FailedSignIns, ListedUser, SessionRecord } from "../people/people_lists.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { PageView } from "./apps.ts";

export type AnyPerson = ListedUser & {
  /** Whether the person signs in with a provider; then none needs a password. */
  hasProvider: boolean;
};

export type ConsolePerson = AnyPerson & {
  apps: number;
  /** The last use of a live session. */
  lastSeenAt: string | null;
};

export type PeopleList = {
  people: ConsolePerson[];
  /** How many have not accepted an invitation, of all. */
  invited: number;
};

export type PersonView = PageView<{
  person: AnyPerson & {
    /** Until when an unused link sets the password. */
    linkEndsAt: string | null;
    /** Which has not been accepted. */
    invitation: Invitation | null;
    /** Whether there is an authenticator app. */
    hasTotp: boolean;
    passkeys: number;
    /** Remaining codes. */
    recoveryCodes: number;
    /** Attempts at the password since it was last right. */
    failedSignIns: FailedSignIns | null;
    /** Whether no one else is a super_admin who can sign in. */
    isLast: boolean;
    /** Whether links are mailed to the address: this service set it. */
    isConfirmed: boolean;
  };
  grants: {
    app: string;
    role: string;
    grantedAt: string;
    /** The provider whose claim gave the role; null: a person granted it. */
    provider: string | null;
    isDisabled: boolean;
  }[];
  /** Those that can be used; the latest 100. */
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

/** A person with at most so many roles on apps, after a slug, or on one app only. @throws {Problem} not_found */
export async function showConsolePerson(
  deps: ConsoleDeps & { identitySecrets: IdentitySecrets },
  cookies: PresentedCookies,
  { id, app, after = "", maxRows }: { id: string; app?: string; after?: string; maxRows: number },
): Promise<PersonView> {
  // A malformed id belongs to no person.
  if (!isUuid(id)) throw unknownPerson();
  const values = { person: id, of_app: app, after_slug: after, max_rows: maxRows };
  const found = await callConsole(deps, cookies, "console_show_person", values);
  const page = found as PersonView & { person: StoredPerson };
  const { addressDigest: digest, addressSecretId: secretId, ...person } = page.person;
  const stored = { userId: person.id, email: person.email, digest, secretId };
  const isAddressConfirmed = isConfirmed(deps.identitySecrets, stored);
  return { ...page, person: { ...person, isConfirmed: isAddressConfirmed } };
}

export type AppPerson = AnyPerson & {
  role: string;
  grantedAt: string;
  /** The provider whose claim gave the role; null: a person granted it. */
  provider: string | null;
};
