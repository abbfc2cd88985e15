/** Second factors of a test: an authenticator app that makes codes as a telephone does, and a browser that enters them. @module */
import { Secret, TOTP } from "otpauth";
import { type Jar, type Person, readHidden, signInAs, submitSignIn, visit } from "./people.ts";
import type { Answer, TestService } from "./service.ts";

export const SECURITY = "/account/security";
const SETUP = `${SECURITY}/app`;
const STEP_MS = 30_000;

export type Authenticator = {
  /** The code at a time, now by default; `steps` from it. */
  code: (options?: { steps?: number; nowMs?: number }) => string;
};

export function makeAuthenticator(key: string): Authenticator {
  const totp = new TOTP({ secret: Secret.fromBase32(key) });
  return {
    code: ({ steps = 0, nowMs = Date.now() } = {}) =>
      totp.generate({ timestamp: nowMs + steps * STEP_MS }),
  };
}

/** The key that the page of a new authenticator app shows. */
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
  answer: Answer;
  /** The form that it answers. */
  sent: Record<string, string>;
};

/**
 * Adds an authenticator app in a browser that has just signed in. Its code is of the step before now, so that the present one is
 * not used up.
 */
export async function enrol(
  service: TestService,
  jar: Jar,
  { query = "" }: { query?: string } = {},
): Promise<Enrolment> {
  const page = await visit(service, jar, `${SETUP}${query}`);
  const key = readKey(page.text);
  const app = makeAuthenticator(key);
  const fields = { ...readHidden(page.text), code: app.code({ steps: -1 }) };
  const answer = await visit(service, jar, `${SETUP}${query}`, { fields });
  const codes = readCodes(answer.text);
  for (const secret of [key, ...codes]) service.secrets.add(secret);
  return { app, key, codes, answer, sent: fields };
}

/** Sends the page that asks for the second factor, wherever a sign-in has led. */
export async function enterFactor(
  service: TestService,
  jar: Jar,
  { path = "/second-factor", ...typed }: { path?: string; code?: string; recovery?: string },
): Promise<Answer> {
  const page = await visit(service, jar, path);
  return await visit(service, jar, path, { fields: { ...readHidden(page.text), ...typed } });
}

/** A browser whose sign-in waits for the second factor. */
export async function passPassword(
  service: TestService,
  person: Person,
  { jar = new Map(), path = "/login" }: { jar?: Jar; path?: string } = {},
): Promise<{ jar: Jar; location: string }> {
  const answer = await submitSignIn(service, jar, { email: person.email, path });
  const location = answer.headers.get("location") ?? "";
  if (!location.startsWith("/second-factor")) throw new Error(`Not asked: ${answer.status}`);
  return { jar, location };
}

/** A person with an authenticator app, whose code of now is not used yet, and the browser that added it. */
export async function enrolPerson(service: TestService, person: Person) {
  const jar = await signInAs(service, person);
  return { person, jar, ...(await enrol(service, jar)) };
}
