/** Keys of people in tests: exchanged as a page does. @module */

import { SESSION_KEY_PATH } from "../../src/identity/mod.ts";
import { readKeyText, setAppSwitch, toProof } from "../../src/records/apps/mod.ts";
import { type Jar, toCookieHeader } from "./people.ts";
import type { TestApp, TestResponse, TestService } from "./service.ts";

export type PersonKey = {
  key: string;
  expiresInS: number;
  user: { id: string; email: string; role: string };
};

/** Turns an app's browser access on. The service needs the preview `browser`, and knows the app's origins afterwards. */
export async function openToBrowsers({ service }: Pick<TestService, "service">, app: TestApp) {
  await setAppSwitch(service, app.slug, ["browser", true]);
  // A process reads new origins within a second. Until then the exchange answers 403.
  await service.warm();
}

/** The exchange as a page of the origin sends it, with the cookies of a browser or other ones. */
export function exchange(
  service: Pick<TestService, "call">,
  {
    cookies,
    app,
    origin,
    headers = {},
  }: {
    cookies: Jar | string;
    app: Pick<TestApp, "slug">;
    origin: string;
    headers?: Record<string, string>;
  },
): Promise<TestResponse> {
  const cookie = typeof cookies === "string" ? cookies : toCookieHeader(cookies);
  return service.call(undefined, `${SESSION_KEY_PATH}?app=${app.slug}`, {
    method: "POST",
    headers: {
      ...(cookie === "" ? {} : { cookie }),
      origin,
      "sec-fetch-site": "same-site",
      "content-type": "application/json",
      ...headers,
    },
    body: "{}",
  });
}

/** A key that a page of the origin gets. */
export async function getPersonKey(
  service: Pick<TestService, "call">,
  options: Parameters<typeof exchange>[1],
): Promise<PersonKey> {
  const { status, json, text } = await exchange(service, options);
  if (status !== 200) throw new Error(`No key: ${status} ${text}`);
  return json as PersonKey;
}

/** The proof of a key's text. */
export function proofOf(key: string): Buffer {
  const read = readKeyText(key, "rh");
  if (read === undefined) throw new Error("Not a key");
  return Buffer.from(toProof(read.secret));
}

/** The id of a key, from its text. */
export function keyIdOf(key: string): string {
  const read = readKeyText(key, "rh");
  if (read === undefined) throw new Error("Not a key");
  return read.keyId;
}
