/** The people of `dev`: an administrator, and a user with a role on the demo app. Later runs reuse their passwords. @module */
import {
  createUser,
  grantRole,
  type LinkDeps,
  makePasswordLink,
} from "../../accounts/people/mod.ts";
import type { IdentitySecrets } from "../../accounts/secrets/mod.ts";
import type { Database } from "../../db/mod.ts";
import { makeHashing, setPasswordByLink } from "../../identity/mod.ts";
import { Problem } from "../../problem.ts";
import { randomText, systemRandomBytes } from "../../std/random_text.ts";
import type { DevPeople } from "./file.ts";

const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
const USER_ROLE = "member";
const SYSTEM: Pick<LinkDeps, "randomBytes" | "now"> = {
  randomBytes: systemRandomBytes,
  now: () => new Date(),
};

export type DevPeopleOptions = {
  domain: string;
  /** The slug of the app that the user can open. */
  app: string;
  stored: DevPeople | undefined;
};

type PeopleDeps = { admin: Database; identitySecrets: IdentitySecrets };

/** Creates missing people; an existing person keeps the stored password. */
export async function openDevPeople(
  deps: PeopleDeps,
  options: DevPeopleOptions,
): Promise<DevPeople> {
  const { domain, app, stored } = options;
  const people = {
    admin: stored?.admin ?? { email: `admin@${domain}`, password: makePassword() },
    user: stored?.user ?? { email: `person@${domain}`, password: makePassword() },
  };
  const isNewStored = stored === undefined;
  await openPerson(deps, { ...people.admin, name: "Dev Admin", isAdmin: true, isNewStored });
  const user = { ...people.user, name: "Dev Person", isAdmin: false, isNewStored };
  // Only once: a role that an administrator revokes later stays revoked.
  if (await openPerson(deps, user))
    await grantRole(deps, { email: user.email, slug: app, role: USER_ROLE });
  return people;
}

type Wanted = DevPeople["user"] & { name: string; isAdmin: boolean; isNewStored: boolean };

/** Whether the person is new. Sets a password for new people, or if no password is stored. */
async function openPerson(deps: PeopleDeps, wanted: Wanted): Promise<boolean> {
  const created = await makePerson(deps, wanted);
  const link = created ?? (await renewLink(deps, wanted));
  if (link !== undefined)
    await setPasswordByLink(
      { ...deps, db: deps.admin, hashing: makeHashing() },
      link,
      wanted.password,
    );
  return created !== undefined;
}

async function makePerson(deps: PeopleDeps, wanted: Wanted): Promise<string | undefined> {
  const makeId = () => Bun.randomUUIDv7();
  const consoleRole = wanted.isAdmin ? ("super_admin" as const) : undefined;
  try {
    const created = await createUser(
      { ...deps, ...SYSTEM, makeId },
      { email: wanted.email, displayName: wanted.name, consoleRole },
    );
    return created.linkText;
  } catch (error) {
    if (error instanceof Problem && error.code === "invalid_request") return undefined; // already there
    throw error;
  }
}

async function renewLink(deps: PeopleDeps, wanted: Wanted): Promise<string | undefined> {
  if (!wanted.isNewStored) return undefined;
  return (await makePasswordLink({ ...deps, ...SYSTEM }, wanted.email)).linkText;
}

/** Five groups of four: 98 bits, and easy to type on a phone. */
function makePassword(): string {
  return Array.from({ length: 5 }, () => randomText(ALPHABET, 4, systemRandomBytes)).join("-");
}
