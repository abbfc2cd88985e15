/** The app of `dev`: its origins on this machine, and a key with every scope, reused by later runs. @module */
import {
  addOrigin,
  createApp,
  findAppId,
  issueKey,
  readKeyText,
  setAppSwitch,
  toProof,
  useKey,
} from "../../accounts/apps/mod.ts";
import { makeIdentitySecrets } from "../../accounts/secrets/mod.ts";
import type { Config } from "../../config/mod.ts";
import { type Database, DEV_KEY_NAME } from "../../db/mod.ts";
import { SCOPES } from "../../principal.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { withDatabase } from "../cli/database.ts";
import type { DevDatabase } from "./database.ts";
import { type DevFile, writeDevFile } from "./file.ts";
import { toFrontEnd, toOrigin } from "./hosts.ts";
import { openDevPeople } from "./people.ts";
import { keepSecrets, openSecrets } from "./secrets.ts";

type DemoOptions = {
  config: Config;
  /** The slug. */
  app: string;
  origins: readonly string[];
  storedKey: string | undefined;
};

/** Creates the app and its origins if they are missing; returns the text of an active key. */
async function openDemoApp(admin: Database, options: DemoOptions): Promise<string> {
  const { app, origins, config } = options;
  const cookieDomain = config.COOKIE_DOMAIN;
  const found = await findAppId({ admin }, app);
  if (found === undefined)
    await createApp(
      { admin, makeId: () => Bun.randomUUIDv7() },
      { slug: app, origins, redirects: [], cookieDomain },
    );
  else
    for (const origin of origins) await addOrigin({ admin }, { slug: app, origin, cookieDomain });
  if (config.PREVIEW.includes("live")) await setAppSwitch({ admin }, app, ["live", true]);
  const appId = found ?? (await findAppId({ admin }, app));
  const stored = options.storedKey;
  if (stored !== undefined && (await isInForce(admin, { text: stored, appId, config })))
    return stored;
  const issued = await issueKey(
    {
      admin,
      keyPrefix: config.API_KEY_PREFIX,
      randomBytes: systemRandomBytes,
    },
    { slug: app, name: DEV_KEY_NAME, scopes: SCOPES, expiresAt: undefined },
  );
  return issued.text;
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
  folder: string;
  config: Config;
  database: DevDatabase;
  port: number;
  app: string;
  origins: readonly string[];
};

/** Opens the app with its people and writes `.rowhouse/dev.json` for other commands. */
export async function openDemo({
  folder,
  config,
  database,
  port,
  app,
  origins,
}: Demo): Promise<DevFile> {
  const secrets = openSecrets(folder);
  const identitySecrets = [secrets.identitySecret];
  const { apiKey, people } = await withDatabase(database.admin, config, async (admin) => ({
    apiKey: await openDemoApp(admin, {
      config,
      app,
      origins: [toOrigin(app, port), toFrontEnd(app), ...origins],
      storedKey: secrets.apiKey,
    }),
    people: await openDevPeople(
      { admin, identitySecrets: makeIdentitySecrets(identitySecrets) },
      { domain: DEV_COOKIE_DOMAIN, app, stored: secrets.people },
    ),
  }));
  keepSecrets(folder, { ...secrets, app, apiKey, people });
  const file = {
    baseUrl: `http://localhost:${port}`,
    gatewayUrl: toOrigin("api", port),
    identityUrl: toOrigin("id", port),
    app,
    apiKey,
    databaseUrl: database.admin.url,
    identitySecrets,
    ...people,
  };
  writeDevFile(folder, file);
  return file;
}
