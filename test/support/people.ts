/** People in tests: created as an operator does, signed in as a browser does. @module */

import { readRows } from "../../src/db/mod.ts";
import { IDENTITY_COOKIE, SESSION_COOKIE, setPasswordByLink } from "../../src/identity/mod.ts";
import { type ConsoleRole, createUser, grantRole } from "../../src/records/people/mod.ts";
import { RECENT_SIGN_IN_S } from "../../src/std/limits.ts";
import { testDeps } from "./deps.ts";
import type { TestApp, TestResponse, TestService } from "./service.ts";

/** A service in which people are created: needs the rights of an administrator and of the serving login. */
export type PeopleService = {
  service: Pick<TestService["service"], "admin" | "db">;
  secrets?: TestService["secrets"];
};
/** A service that a browser visits. */
export type VisitedService = Pick<TestService, "url" | "call">;

/** The time of a sign-in that is no longer recent, as SQL. */
export const OLD_SIGN_IN = `now() - interval '${RECENT_SIGN_IN_S} seconds'`;

export const PASSWORD = "three brown cups of tea";

export type Person = { id: string; email: string };

/** Creates a person with a password ({@linkcode PASSWORD} by default), a Console role or a role on an app. */
export async function makePerson(
  { service, secrets }: PeopleService,
  options: {
    name?: string;
    password?: string;
    consoleRole?: ConsoleRole;
    app?: Pick<TestApp, "slug">;
    role?: string;
  } = {},
): Promise<Person> {
  const email = `person-${crypto.randomUUID().slice(-12)}@example.org`;
  const deps = { ...testDeps(service), db: service.db };
  const { id, linkText } = await createUser(deps, {
    email,
    displayName: undefined,
    consoleRole: options.consoleRole,
  });
  // In SQL, because tests store names that no command accepts.
  if (options.name !== undefined)
    await readRows(service.admin, "update rowhouse.users set display_name = $1 where id = $2", [
      options.name,
      id,
    ]);
  const { password = PASSWORD } = options;
  for (const secret of [password, linkText]) secrets?.add(secret);
  if (!(await setPasswordByLink(deps, linkText, password)))
    throw new Error("The link was not accepted");
  if (options.app !== undefined) {
    const { slug } = options.app;
    await grantRole({ admin: service.admin }, { email, slug, role: options.role ?? "member" });
  }
  return { id, email };
}

/** A browser's cookies of one host, by name. */
export type Jar = Map<string, string>;

/** Sends one request with the jar's cookies and stores the response's cookies. A form is sent with its origin. */
export async function visit(
  service: VisitedService,
  jar: Jar,
  path: string,
  form?: { fields: Record<string, string>; origin?: string | null },
): Promise<TestResponse> {
  const origin = form?.origin === undefined ? service.url : form.origin;
  const response = await service.call(undefined, path, {
    method: form === undefined ? "GET" : "POST",
    headers: {
      ...(jar.size === 0 ? {} : { cookie: toCookieHeader(jar) }),
      ...(form === undefined || origin === null ? {} : { origin }),
      ...(form === undefined ? { "sec-fetch-site": "same-origin" } : {}),
    },
    ...(form === undefined ? {} : { body: new URLSearchParams(form.fields) }),
  });
  keepCookies(jar, response);
  return response;
}

/** Returns the token of the form in a page. */
export function readToken(page: string): string {
  const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1];
  if (token === undefined) throw new Error(`No form token in: ${page}`);
  return token;
}

/** Returns the hidden fields of a page's form. */
export function readHidden(page: string): Record<string, string> {
  const inputs = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return Object.fromEntries(
    // Entity tags contain quotes.
    [...inputs].map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]),
  );
}

/** Opens a page and submits its form. */
export async function submitForm(
  service: VisitedService,
  jar: Jar,
  { path, typed = {} }: { path: string; typed?: Record<string, string> | undefined },
): Promise<TestResponse> {
  const page = await visit(service, jar, path);
  return await visit(service, jar, path, { fields: { ...readHidden(page.text), ...typed } });
}

/** Opens a page with the sign-in form and submits it. */
export async function submitSignIn(
  service: VisitedService,
  jar: Jar,
  typed: { path?: string; email: string; password?: string },
): Promise<TestResponse> {
  const path = typed.path ?? "/login";
  const page = await visit(service, jar, path);
  return await visit(service, jar, path, {
    fields: {
      form_token: readToken(page.text),
      email: typed.email,
      password: typed.password ?? PASSWORD,
    },
  });
}

/** Signs a person in and returns the browser's cookies. */
export async function signInAs(service: VisitedService, person: Person): Promise<Jar> {
  const jar: Jar = new Map();
  const response = await submitSignIn(service, jar, { email: person.email });
  if (response.status !== 303)
    throw new Error(`Not signed in: ${response.status} ${response.text}`);
  return jar;
}

/** The response of `/v1/auth/me` to a browser's shared cookie, for an app. */
export function readMe(service: VisitedService, jar: Jar, slug?: string): Promise<TestResponse> {
  const query = slug === undefined ? "" : `?app=${slug}`;
  return service.call(undefined, `/v1/auth/me${query}`, { headers: { cookie: sharedCookie(jar) } });
}

/** Opens the link of a password, and sends its form. */
export async function choosePassword(
  service: VisitedService,
  path: string,
  password: string,
  jar: Jar = new Map(),
): Promise<TestResponse> {
  const page = await visit(service, jar, path);
  return await visit(service, jar, "/set-password", {
    fields: { ...readHidden(page.text), password },
  });
}

/** Returns the shared cookie of a browser, as apps and the gateway get it. */
export function sharedCookie(jar: Jar): string {
  return `${SESSION_COOKIE}=${jar.get(SESSION_COOKIE)}`;
}

export function identityCookie(jar: Jar): string {
  return `${IDENTITY_COOKIE}=${jar.get(IDENTITY_COOKIE)}`;
}

export function toCookieHeader(jar: Jar): string {
  return [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
}

export function keepCookies(jar: Jar, { headers }: TestResponse): void {
  for (const line of headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (!/; Path=\/(;|$)/.test(line)) continue;
    if (/; Max-Age=0(;|$)/.test(line)) jar.delete(name);
    else jar.set(name, value);
  }
}
