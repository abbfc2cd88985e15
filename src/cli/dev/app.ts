/** The app of `dev`: its origins on this machine, and a key with every scope, reused by later runs. @module */

import { type Database, DEV_KEY_NAME } from "../../db/mod.ts";
import { SCOPES } from "../../principal.ts";
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
import { makeIdentitySecrets } from "../../records/secrets/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { withDatabase } from "../database.ts";
import { type DevFile, writeDevFile } from "../dev_file.ts";
import { PROJECT_FILE } from "../project_file.ts";
import { type AppName, listFrontEnds, toOrigin } from "./app_name.ts";
import type { DevDatabase } from "./database.ts";
import { openDevPeople } from "./people.ts";
import { type DevProject, findRoles } from "./projects.ts";
import { keepSecrets, openSecrets } from "./secrets.ts";

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
