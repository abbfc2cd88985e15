/**
 * The people of `dev`: an administrator, a user with a role on the demo app, and one for each other role of the schema's rules.
 * Later runs reuse their passwords.
 *
 * @module
 */
import type { Database } from "../../db/mod.ts";
import { makeHashing, setPasswordByLink } from "../../identity/mod.ts";
import { Problem } from "../../problem.ts";
import {
  createUser,
  grantRole,
  type LinkDeps,
  makePasswordLink,
} from "../../records/people/mod.ts";
import type { IdentitySecrets } from "../../records/secrets/mod.ts";
import { randomText, systemRandomBytes } from "../../std/random_text.ts";
import type { DevPeople } from "../dev_file.ts";

const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
const USER_ROLE = "member";
/** Console administrators have it on every app. */
const OF_ADMINISTRATORS = "admin";
/** Max people for roles: each costs the hash of a password. */
const ROLES_MAX = 10;
const SYSTEM: Pick<LinkDeps, "randomBytes" | "now"> = {
  randomBytes: systemRandomBytes,
  now: () => new Date(),
};

type DevPeopleOptions = {
  domain: string;
  /** The slug of the app that the user can open. */
  app: string;
  /** Whether the people have no role on it yet. */
  isNewApp: boolean;
  /** Those of the schema's rules. */
  roles: readonly string[];
  stored: DevPeople | undefined;
};

type PeopleDeps = { admin: Database; identitySecrets: IdentitySecrets };

/** Creates missing people; an existing person keeps the stored password. */
export async function openDevPeople(
  deps: PeopleDeps,
  options: DevPeopleOptions,
): Promise<DevPeople> {
  const { domain, app, stored } = options;
  const others = options.roles
    .filter((role) => role !== USER_ROLE && role !== OF_ADMINISTRATORS)
    .slice(0, ROLES_MAX);
  const ofRole = (role: string) =>
    stored?.roles?.[role] ?? { email: `${toLocalPart(role)}@${domain}`, password: makePassword() };
  const people = {
    admin: stored?.admin ?? { email: `admin@${domain}`, password: makePassword() },
    user: stored?.user ?? { email: `person@${domain}`, password: makePassword() },
    roles: Object.fromEntries(others.map((role) => [role, ofRole(role)])),
  };
  const isNewStored = stored === undefined;
  await openPerson(deps, { ...people.admin, name: "Dev Admin", isAdmin: true, isNewStored });
  const openWithRole = async (wanted: Omit<Wanted, "isAdmin">, role: string) => {
    // Only once: a role that an administrator revokes later stays revoked.
    if ((await openPerson(deps, { ...wanted, isAdmin: false })) || options.isNewApp)
      await grantRole(deps, { email: wanted.email, slug: app, role });
  };
  await openWithRole({ ...people.user, name: "Dev Person", isNewStored }, USER_ROLE);
  for (const [role, person] of Object.entries(people.roles)) {
    const isNewRole = stored?.roles?.[role] === undefined;
    await openWithRole({ ...person, name: `Dev ${role}`, isNewStored: isNewRole }, role);
  }
  const { admin, user } = people;
  const roles = { ...stored?.roles, ...people.roles };
  return Object.keys(roles).length === 0 ? { admin, user } : { admin, user, roles };
}

/** The addresses `admin` and `person` belong to the other people. */
function toLocalPart(role: string): string {
  return role === "person" ? "role-person" : role;
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
