/** Second factors in tests: an authenticator app that generates codes, and a browser that enters them. @module */
import { Secret, TOTP } from "otpauth";
import { readRows } from "../../src/db/mod.ts";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import {
  type Jar,
  type Person,
  readHidden,
  signInAs,
  submitSignIn,
  type VisitedService,
  visit,
} from "./people.ts";
import type { TestResponse, TestService } from "./service.ts";

export const SECURITY = "/account/security";
const SETUP = `${SECURITY}/app`;
const STEP_MS = 30_000;

export type Authenticator = {
  /** Returns the code at `nowMs` (default: now) plus `steps`. */
  code: (options?: { steps?: number; nowMs?: number }) => string;
};

export function makeAuthenticator(key: string): Authenticator {
  const totp = new TOTP({ secret: Secret.fromBase32(key) });
  return {
    code: ({ steps = 0, nowMs = Date.now() } = {}) =>
      totp.generate({ timestamp: nowMs + steps * STEP_MS }),
  };
}

/** Returns the key that the page of a new authenticator app displays. */
export function readKey(page: string): string {
  const key = /<code class="key">([A-Z2-7 ]+)<\/code>/.exec(page)?.[1];
  if (key === undefined) throw new Error(`No key in: ${page}`);
  return key.replaceAll(" ", "");
}

export function readCodes(page: string): string[] {
  return /<code id="codes">([^<]+)<\/code>/.exec(page)?.[1]?.split("\n") ?? [];
}

export type Enrolment = {
  app: Authenticator;
  key: string;
  codes: string[];
  response: TestResponse;
  /** The submitted form. */
  sent: Record<string, string>;
};

/**
 * Adds an authenticator app in a browser that has just signed in, with the current code. Marks this code as unused, so that the
 * next sign-in can use it too. The previous code could expire before it arrives.
 */
export async function enrol(
  service: TestService,
  jar: Jar,
  options: { query?: string } = {},
): Promise<Enrolment> {
  const enrolment = await addAuthenticator(service, jar, options);
  await forgetCode(service, jar);
  for (const secret of [enrolment.key, ...enrolment.codes]) service.secrets.add(secret);
  return enrolment;
}

/** Adds an authenticator app in a browser that has just signed in, which uses the current code. */
export async function addAuthenticator(
  service: VisitedService,
  jar: Jar,
  { query = "" }: { query?: string } = {},
): Promise<Enrolment> {
  const page = await visit(service, jar, `${SETUP}${query}`);
  const key = readKey(page.text);
  const app = makeAuthenticator(key);
  const fields = { ...readHidden(page.text), code: app.code() };
  const response = await visit(service, jar, `${SETUP}${query}`, { fields });
  return { app, key, codes: readCodes(response.text), response, sent: fields };
}

/** Marks the last code of the signed-in person's app as unused. */
async function forgetCode({ service }: TestService, jar: Jar): Promise<void> {
  const [id = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
  await readRows(
    service.admin,
    `update rowhouse.totp_factors set last_step = 0 from rowhouse.sessions
    where sessions.id = $1 and totp_factors.user_id = sessions.user_id`,
    [id],
  );
}

/** Submits the page of a sign-in that asks for the second factor. */
export async function enterFactor(
  service: VisitedService,
  jar: Jar,
  { path = "/second-factor", ...typed }: { path?: string; code?: string; recovery?: string },
): Promise<TestResponse> {
  const page = await visit(service, jar, path);
  return await visit(service, jar, path, { fields: { ...readHidden(page.text), ...typed } });
}

/** Signs in with the password, up to the second factor. */
export async function passPassword(
  service: VisitedService,
  person: Pick<Person, "email">,
  { jar = new Map(), path = "/login" }: { jar?: Jar; path?: string } = {},
): Promise<{ jar: Jar; location: string }> {
  const response = await submitSignIn(service, jar, { email: person.email, path });
  const location = response.headers.get("location") ?? "";
  if (!location.startsWith("/second-factor")) throw new Error(`Not asked: ${response.status}`);
  return { jar, location };
}

/** Adds an authenticator app for a person, whose current code stays unused. */
export async function enrolPerson(service: TestService, person: Person) {
  const jar = await signInAs(service, person);
  return { person, jar, ...(await enrol(service, jar)) };
}
