/** The demo app of `dev`: `todo`, its origin on this port, and a key with every scope that is kept between runs. @module */
import {
  addOrigin,
  createApp,
  findAppId,
  issueKey,
  readKeyText,
  toProof,
  toProofDigest,
  useKey,
} from "../../accounts/mod.ts";
import type { Config } from "../../config.ts";
import type { Database } from "../../db/mod.ts";
import { SCOPES } from "../../principal.ts";
import { systemRandomBytes } from "../../std/random_text.ts";

export const DEMO_APP = "todo";

export type DemoOptions = { config: Config; origin: string; keptKey: string | undefined };

/** Makes the app and its origin where they are missing; the text of a key that is in force. */
export async function openDemoApp(admin: Database, options: DemoOptions): Promise<string> {
  const { origin, config } = options;
  const cookieDomain = config.COOKIE_DOMAIN;
  const found = await findAppId({ admin }, DEMO_APP);
  if (found === undefined) await createDemoApp(admin, origin, cookieDomain);
  else await addOrigin({ admin }, { slug: DEMO_APP, origin, cookieDomain });
  const appId = found ?? (await findAppId({ admin }, DEMO_APP));
  const kept = options.keptKey;
  if (kept !== undefined && (await isInForce(admin, { text: kept, appId, config }))) return kept;
  const issued = await issueKey(
    {
      admin,
      keyPrefix: config.API_KEY_PREFIX,
      randomBytes: systemRandomBytes,
    },
    { slug: DEMO_APP, name: "rowhouse dev", scopes: SCOPES, expiresAt: undefined },
  );
  return issued.text;
}

async function createDemoApp(
  admin: Database,
  origin: string,
  cookieDomain: string | undefined,
): Promise<void> {
  await createApp(
    { admin, makeId: () => Bun.randomUUIDv7() },
    { slug: DEMO_APP, origins: [origin], redirects: [], cookieDomain },
  );
}

type KeptKey = { text: string; appId: string | undefined; config: Config };

/** The database may be another one than the key was made in. */
async function isInForce(admin: Database, { text, appId, config }: KeptKey): Promise<boolean> {
  const parts = readKeyText(text, config.API_KEY_PREFIX);
  if (parts === undefined) return false;
  const digest = toProofDigest(toProof(parts.secret));
  const used = await useKey({ db: admin }, { keyId: parts.keyId, digest });
  if (used === undefined) return false;
  const { record } = used;
  return record.appId === appId && SCOPES.every((scope) => record.scopes.includes(scope));
}
