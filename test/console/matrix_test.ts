/**
 * Access to the pages of the Console and the effects of forms: every route of the table, with the visitor's own token
 * and everything else that the form needs. A new route is tested automatically.
 */
import { expect, test } from "bun:test";
import { FUNCTIONS } from "../../src/db/functions.ts";
import { type FunctionShape, isForRecentSignIn } from "../../src/db/mod.ts";
import { IDENTITY_COOKIE, SESSION_COOKIE, toSessionToken } from "../../src/identity/mod.ts";
import { TOKEN_FIELD } from "../../src/pages/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { removeConsoleRole, setDisabled } from "../../src/records/people/mod.ts";
import { docs, pages } from "../../src/service/routes.ts";
import { FACTOR_GRACE_S } from "../../src/std/limits.ts";
import { casesBy } from "../support/cases.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  type Person,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import {
  CONSOLE_FORMS,
  CONSOLE_PAGES,
  CONSOLE_WRITES,
  IMPORT,
  makeSubjects,
} from "../support/samples/console.ts";
import { fillForm } from "../support/samples/forms.ts";
import { enrolPerson, passPassword } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const GETS = CONSOLE_PAGES;
const ROWS = "/console/apps/:app/tables/:table";
const FORMS = CONSOLE_FORMS;
const POSTS = FORMS.map(({ path }) => path);
/** Every form needs a recent sign-in, unless its action does not, or it is a form of rows, which have no action. */
const SENSITIVE = FORMS.filter(({ path, action }) =>
  action === undefined
    ? !path.startsWith("/console/apps/:app/tables/:table")
    : isForRecentSignIn(action),
).map(({ path }) => path);

/** The filled-in form of each page. */
const forms = new Map<string, Record<string, string>>();
const service = await share(
  openTestService({
    service: { previews: ["live", "browser", "history"] },
    identity: () => ({ cookieDomain: "example.org" }),
  }),
);
const { app, person, toPath } = await makeSubjects(service, "not for you");
const chief = await signInAs(service, await makePerson(service, { consoleRole: "super_admin" }));
const stranger = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
for (const path of POSTS) {
  const { text } = await visit(service, chief, toPath(path));
  forms.set(path, fillForm(text, app));
}

async function send(jar: Jar, path: string, form: { token?: string; origin?: string | null } = {}) {
  const { token = toToken(jar), ...rest } = form;
  const fields = { ...forms.get(path), [TOKEN_FIELD]: token };
  return await visit(service, new Map(jar), toPath(path), { fields, ...rest });
}

/** Sends a valid write of the grid's script. */
async function write(
  jar: Jar,
  { method, path }: { method: string; path: string },
  { token = toToken(jar), origin = service.url }: { token?: string; origin?: string | null } = {},
): Promise<number> {
  const values = path.endsWith("/imports") ? IMPORT : { title: "overwritten" };
  const isList = method === "PATCH" && path.endsWith("/:table");
  const [, id = ""] = /rows\/([^/]+)$/.exec(toPath(`${ROWS}/rows/:row`)) ?? [];
  const response = await fetch(service.url + toPath(path), {
    ...{ method, redirect: "manual" },
    headers: {
      ...{ cookie: toCookieHeader(jar), "form-token": token, "content-type": "application/json" },
      ...(origin === null ? {} : { origin }),
    },
    ...(method === "DELETE" ? {} : { body: JSON.stringify(isList ? [{ id, ...values }] : values) }),
  });
  await response.text();
  return response.status;
}

/** The token that the pages would give this browser. */
function toToken(jar: Jar): string {
  return toSessionToken(new Request(service.url, { headers: { cookie: toCookieHeader(jar) } }));
}

/** Everything that actions of the Console change, except times of last use. */
async function readState(): Promise<string> {
  const parts = [
    "id::text || email || coalesce(console_role, '') || coalesce(disabled_at::text, '') from rowhouse.users",
    "id::text || slug || coalesce(disabled_at::text, '') from rowhouse.apps",
    "app_id || origin from rowhouse.targets",
    "user_id || role || granted_at from rowhouse.grants",
    "key_id || coalesce(revoked_at::text, '') || coalesce(expires_at::text, '') from rowhouse.api_keys",
    "id from rowhouse.password_links",
    "id from rowhouse.sessions",
    "id || action from rowhouse.audit where action not in ('session_conflict', 'console_rejected')",
    // Deleted with the app.
    `case when to_regclass('data.secrets') is not null
      then query_to_xml('select * from data.secrets', true, false, '')::text end`,
  ].map((text) => `select ${text}`);
  const [row] = await service.query<{ state: string }>(
    `select string_agg(one, ' ' order by one) as state from (${parts.join(" union all ")}) as all_parts (one)`,
  );
  return row?.state ?? "";
}

const run = (text: string) => service.service.admin.message(`${text}; select 1`);
const administrator = () => makePerson(service, { consoleRole: "super_admin" });
const half = (jar: Jar, name: string): Jar => new Map([[name, jar.get(name) ?? ""]]);

/** The browser of an administrator, after something has happened. */
const after = (happens: (own: Person) => Promise<unknown>) => async () => {
  const own = await administrator();
  const jar = await signInAs(service, own);
  await happens(own);
  return jar;
};
const set = (table: string, change: string) => (own: Person) =>
  run(
    `update rowhouse.${table} set ${change} where ${table === "users" ? "id" : "user_id"} = '${own.id}'`,
  );

/**
 * By the status of pages and of forms: a redirect to sign-in, or access denied. A form without its token is rejected first.
 */
const VISITORS = casesBy<() => Promise<Jar>>({
  "303, 403": {
    nobody: async () => new Map(),
    "only the shared cookie": async () => half(chief, SESSION_COOKIE),
    "an administrator whose sign-in is waiting for the second factor": async () =>
      (await passPassword(service, (await enrolPerson(service, await administrator())).person)).jar,
  },
  "303, 303": {
    "only the pages' cookie": async () => half(chief, IDENTITY_COOKIE),
    "the cookies of two sessions": async () => {
      const other = await signInAs(service, await administrator());
      return new Map([...half(chief, SESSION_COOKIE), ...half(other, IDENTITY_COOKIE)]);
    },
    "a disabled administrator": after(({ email }) => setDisabled(service.service, email, true)),
    "an administrator who has postponed a second factor for too long": after(
      set("users", `factor_asked_at = now() - interval '${FACTOR_GRACE_S} seconds'`),
    ),
    "an administrator's expired session": after(set("sessions", "expires_at = now()")),
  },
  "403, 403": {
    "a person without a role": async () => await signInAs(service, await makePerson(service)),
    "a person who is admin on the app": async () =>
      await signInAs(service, await makePerson(service, { app, role: "admin" })),
    "an administrator whose role was removed": after(({ email }) =>
      removeConsoleRole(service.service, email),
    ),
  },
});

test("the matrix has the routes of the Console", () => {
  expect(GETS.length).toBeGreaterThan(20);
  expect(POSTS.length).toBeGreaterThan(15);
  expect(SENSITIVE.length).toBeGreaterThan(15);
  expect(CONSOLE_WRITES.map(({ method }) => method)).toEqual([
    "POST",
    "PATCH",
    "PATCH",
    "DELETE",
    "POST",
  ]);
});

test("every action of an administrator has a form", () => {
  // The form of `invite` runs this for several addresses.
  const shared = ["invite_people"];
  const actions = Object.entries<FunctionShape>(FUNCTIONS)
    .filter(([, { input, caller }]) => input !== undefined && caller === "operator")
    .map(([name]) => name);
  expect(actions.length).toBeGreaterThan(20);
  const ofForms = new Set(FORMS.map(({ action }): string | undefined => action));
  expect(actions.filter((name) => !ofForms.has(name))).toEqual(shared);
});

test.each(VISITORS)(
  "$name gets no page, and no form has an effect",
  async ({ value: make, expected }) => {
    const [shown = 0, sent = 0] = expected.split(", ").map(Number);
    const jar = await make();
    const before = await readState();
    for (const path of GETS) {
      const { status, text } = await visit(service, new Map(jar), toPath(path));
      expect([path, status]).toEqual([path, shown]);
      for (const secret of [app.slug, person.email, "not for you"])
        expect(text).not.toContain(secret);
    }
    for (const path of POSTS) expect([path, (await send(jar, path)).status]).toEqual([path, sent]);
    for (const route of CONSOLE_WRITES)
      expect([route.method, await write(new Map(jar), route)]).toEqual([route.method, sent]);
    expect(await readState()).toBe(before);
  },
);

test.each([
  { name: "of another site", form: { origin: "https://evil.example.org" } },
  { name: "of an app's host", form: { origin: "https://app.example.org" } },
  { name: "without an origin", form: { origin: null } },
  { name: "without a token", form: { token: "" } },
  { name: "with another user's token", form: { token: toToken(stranger) } },
])("a form $name has no effect, with any cookies", async ({ form }) => {
  const before = await readState();
  for (const path of POSTS)
    expect([path, (await send(chief, path, form)).status]).toEqual([path, 403]);
  for (const route of CONSOLE_WRITES)
    expect([route.method, await write(chief, route, form)]).toEqual([route.method, 403]);
  expect(await readState()).toBe(before);
});

test.each([
  { name: "a recent sign-in", column: "proven_at", open: signInAs },
  {
    name: "the second factor of a person who has one",
    column: "second_factor_at",
    open: async (...of: Parameters<typeof signInAs>) => (await enrolPerson(service, of[1])).jar,
  },
])("every sensitive action requires $name", async ({ column, open }) => {
  const own = await administrator();
  const jar = await open(service, own);
  await set("sessions", `${column} = ${OLD_SIGN_IN}`)(own);
  const before = await readState();
  for (const path of SENSITIVE) {
    const response = await send(jar, path);
    const [to] = (response.headers.get("location") ?? "").split("?");
    expect([path, response.status, to]).toEqual([path, 303, "/console/sign-in"]);
  }
  expect(await readState()).toBe(before);
});

/** Changes of an account. An admin can grant a role to everyone. */
const ACCOUNT_FORMS = FORMS.filter(
  ({ path, action }) =>
    path.startsWith("/console/people/:person/") && !action?.startsWith("grant_"),
).map(({ path }) => path);

test.each(["super_admin", "admin", "own"] as const)(
  "an admin who is not a super_admin cannot change an account: %s",
  async (role) => {
    expect(ACCOUNT_FORMS.length).toBeGreaterThan(8);
    const own = await makePerson(service, { consoleRole: "admin" });
    const jar = await signInAs(service, own);
    const of = role === "own" ? own : await makePerson(service, { consoleRole: role });
    const before = await readState();
    for (const template of ACCOUNT_FORMS) {
      const path = toPath(template, of);
      expect([path, fillForm((await visit(service, jar, path)).text, app)]).toEqual([path, {}]);
      const filled = fillForm((await visit(service, chief, path)).text, app);
      const fields = { ...filled, [TOKEN_FIELD]: toToken(jar) };
      const { status, text } = await visit(service, jar, path, { fields });
      expect([path, status, text.includes("Only a super_admin")]).toEqual([path, 403, true]);
    }
    expect(await readState()).toBe(before);
  },
);

test("an admin gets every page, and an app's key gets none", async () => {
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  for (const path of GETS) {
    const { status } = await visit(service, jar, toPath(path));
    expect([path, ...shownStatuses(path)]).toContain(status);
    expect([path, (await service.call(app, toPath(path))).status]).toEqual([path, 303]);
  }
  const before = await readState();
  for (const path of POSTS) {
    const body = new URLSearchParams({ ...forms.get(path), [TOKEN_FIELD]: toToken(chief) });
    const headers = { origin: service.url };
    const { status } = await service.call(app, toPath(path), { method: "POST", headers, body });
    expect([path, status]).toEqual([path, 403]);
  }
  expect(await readState()).toBe(before);
});

/** 422: the action is not possible, and the page gives the reason. Only a live app has changes. */
function shownStatuses(path: string): number[] {
  return path.endsWith("/:table/changes") ? [404] : [200, 422];
}

test.each(["off", "on"])(
  "every link and form leads to a page, with the app disabled: %s",
  async (state) => {
    const known = [...docs, ...pages].map(
      ({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`),
    );
    const linked = new Set<string>();
    if (state === "on") await setAppSwitch(service.service, app.slug, ["disabled", true]);
    for (const path of GETS.filter((one) => !one.includes("/export/"))) {
      const { text } = await visit(service, chief, toPath(path));
      for (const [, to = ""] of text.matchAll(/<(?:a|form)\b[^>]*? (?:href|action)="(\/[^"?#]*)/g))
        linked.add(to);
    }
    if (state === "on") await setAppSwitch(service.service, app.slug, ["disabled", false]);
    expect(linked.size).toBeGreaterThan(30);
    expect([...linked].filter((to) => !known.some((path) => path.test(to)))).toEqual([]);
  },
);

// This proves that the forms and writes above were rejected because of their sender.
test("a script of the grid writes with the token of the session", async () => {
  const before = await readState();
  // The others would change the row of the forms.
  for (const route of CONSOLE_WRITES.filter(({ method }) => method === "POST"))
    expect(await write(chief, route)).toBe(201);
  expect(await readState()).not.toBe(before);
});

test("a super_admin with a recent sign-in gets every page and every form", async () => {
  for (const path of GETS)
    expect([path, ...shownStatuses(path)]).toContain(
      (await visit(service, chief, toPath(path))).status,
    );
  const idle: string[] = [];
  for (const { path, isOfDev } of FORMS) {
    const before = await readState();
    const response = await send(chief, path);
    // Only dev accepts it.
    if (isOfDev === true) {
      expect([path, response.status]).toEqual([path, 404]);
      continue;
    }
    // An earlier form has changed the row.
    expect([path, 200, 303]).toContain(path.endsWith("/:row/delete") ? 303 : response.status);
    expect(response.headers.get("location") ?? "").not.toStartWith("/console/sign-in");
    if ((await readState()) === before) idle.push(path);
  }
  expect(idle).toEqual([`${ROWS}/rows/:row/delete`]);
});
