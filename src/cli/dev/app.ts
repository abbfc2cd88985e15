/** The app of `dev`: its origins on this machine, and a key with every scope, reused by later runs. @module */

import { type Database, DEV_KEY_NAME } from "../../db/mod.ts";
import { makeHashing, setPasswordByLink } from "../../identity/mod.ts";
import { SCOPES } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import {
  addOrigin,
  createApp,
  findAppId,
  issueKey,
  readKeyText,
  renameApp,
  setAppSwitch,
  toProof,
  useKey,
} from "../../records/apps/mod.ts";
import {
  createUser,
  grantRole,
  type LinkDeps,
  makePasswordLink,
} from "../../records/people/mod.ts";
import { type IdentitySecrets, makeIdentitySecrets } from "../../records/secrets/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { randomText, systemRandomBytes } from "../../std/random_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { withDatabase } from "../database.ts";
import { type DevFile, type DevPeople, writeDevFile } from "../dev_file.ts";
import { PROJECT_FILE } from "../project_file.ts";
import { type AppName, listFrontEnds, toOrigin } from "./app_name.ts";
import type { DevDatabase } from "./database.ts";
import { type DevProject, findRoles } from "./projects.ts";
import { keepSecrets, openSecrets } from "./secrets.ts";

// The people of `dev`: an administrator, a user with a role on the demo app, and one for each other
// role of the schema's rules. Later runs reuse their passwords.

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
async function openDevPeople(deps: PeopleDeps, options: DevPeopleOptions): Promise<DevPeople> {
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

type DemoOptions = {
  config: Config;
  name: AppName;
  origins: readonly string[];
  storedKey: string | undefined;
  report: (line: string) => void;
};

type DemoApp = { /** The text of an active key. */ apiKey: string; isNewApp: boolean };

/** Creates the app and its origins if they are missing. */
async function openDemoApp(admin: Database, options: DemoOptions): Promise<DemoApp> {
  const { app } = options.name;
  const { origins, config } = options;
  const cookieDomain = config.COOKIE_DOMAIN;
  const found = await findOwnApp(admin, options);
  if (found === undefined)
    await createApp(
      { admin, makeId: () => Bun.randomUUIDv7() },
      { slug: app, origins, redirects: [], cookieDomain },
    );
  else
    for (const origin of origins) await addOrigin({ admin }, { slug: app, origin, cookieDomain });
  for (const name of ["live", "browser", "history"] as const)
    if (config.PREVIEW.includes(name)) await setAppSwitch({ admin }, app, [name, true]);
  const appId = found ?? (await findAppId({ admin }, app));
  const stored = options.storedKey;
  const isNewApp = found === undefined;
  if (stored !== undefined && (await isInForce(admin, { text: stored, appId, config })))
    return { apiKey: stored, isNewApp };
  const issued = await issueKey(
    {
      admin,
      keyPrefix: config.API_KEY_PREFIX,
      randomBytes: systemRandomBytes,
    },
    { slug: app, name: DEV_KEY_NAME, scopes: SCOPES, expiresAt: undefined },
  );
  return { apiKey: issued.text, isNewApp };
}

/**
 * The id of the app. The app of the previous run gets the name that the project has now: a second app could only share its tables,
 * without their rows.
 */
async function findOwnApp(admin: Database, { name, report }: DemoOptions) {
  const { app, former } = name;
  const own = await findAppId({ admin }, app);
  const other = former === undefined ? undefined : await findAppId({ admin }, former);
  if (former === undefined || other === undefined) return own;
  if (own !== undefined) {
    report(
      `${PROJECT_FILE} names the app ${app}. The rows of ${former}, which dev served before, stay: rowhouse dev --app ${quoteForShell(former)}`,
    );
    return own;
  }
  await renameApp({ admin }, { slug: former, newSlug: app });
  report(`Renamed the app ${former} to ${app}, as ${PROJECT_FILE} names it: rows and keys stay`);
  return other;
}

type StoredKey = { text: string; appId: string | undefined; config: Config };

/** False if the key was issued in another database. */
async function isInForce(admin: Database, { text, appId, config }: StoredKey): Promise<boolean> {
  const parts = readKeyText(text, config.API_KEY_PREFIX);
  if (parts === undefined) return false;
  const proof = Buffer.from(toProof(parts.secret)).toString("hex");
  const used = await useKey({ db: admin }, { keyId: parts.keyId, proof });
  if (used === undefined) return false;
  const { record } = used;
  return record.appId === appId && SCOPES.every((scope) => record.scopes.includes(scope));
}

type Demo = {
  /** The folder of `dev`, which has the secrets. */
  folder: string;
  config: Config;
  database: DevDatabase;
  port: number;
  projects: readonly DevProject[];
  origins: readonly string[];
  /** The tokens for test people, in the order of the projects. */
  tokens: readonly string[];
};

/** Opens the app of each project with its people and writes `.rowhouse/dev.json` for other commands; returns these files by app. */
export async function openDemos(demo: Demo): Promise<ReadonlyMap<string, DevFile>> {
  const { database, config } = demo;
  return await withDatabase(database.admin, config, async (admin) => {
    const files = new Map<string, DevFile>();
    for (const [index, project] of demo.projects.entries())
      files.set(
        project.name.app,
        await openDemo(admin, demo, { project, token: demo.tokens[index] ?? "" }),
      );
    return files;
  });
}

async function openDemo(
  admin: Database,
  { folder, config, database, port, projects, origins }: Demo,
  { project, token }: { project: DevProject; token: string },
): Promise<DevFile> {
  const { name, path, setting } = project;
  const { app, remembered } = name;
  const isOther = path !== "";
  const secrets = openSecrets(folder);
  const identitySecrets = [secrets.identitySecret];
  const { apiKey, isNewApp } = await openDemoApp(admin, {
    config,
    name,
    report: setting.terminal.print,
    origins: [
      toOrigin(app, port),
      ...listFrontEnds(app, projects.length),
      ...(isOther ? [] : origins),
    ],
    storedKey: isOther ? secrets.apps?.[app] : secrets.apiKey,
  });
  const people = await openDevPeople(
    { admin, identitySecrets: makeIdentitySecrets(identitySecrets) },
    { domain: DEV_COOKIE_DOMAIN, app, isNewApp, roles: findRoles(project), stored: secrets.people },
  );
  const changed = isOther
    ? { apps: { ...secrets.apps, [app]: apiKey } }
    : { app: remembered, apiKey };
  keepSecrets(folder, { ...secrets, ...changed, people });
  const file = {
    baseUrl: `http://localhost:${port}`,
    gatewayUrl: toOrigin("api", port),
    identityUrl: toOrigin("id", port),
    app,
    apiKey,
    databaseUrl: database.admin.url,
    identitySecrets,
    testToken: token,
    ...people,
  };
  writeDevFile(setting.folder, file);
  return file;
}
