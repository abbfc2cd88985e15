/** The Console over HTTP: access, the effects of forms, and input that is displayed as text. */
import { beforeEach, expect, test } from "bun:test";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { listApps, listAudit, listKeys } from "../support/lists.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  readHidden,
  signInAs,
  submitForm,
  submitSignIn,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { postDefinition } from "../support/push.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

let jar: Jar;
let app: TestApp;
const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const admin = await makePerson(service, { name: "Ada", consoleRole: "admin" });
beforeEach(async () => {
  app = await service.makeApp();
  jar = await signInAs(service, admin);
});

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const appPath = () => `/console/apps/${app.slug}`;
const keysOf = async ({ slug }: { slug: string }) => await listKeys(service.service, slug);
const appsOf = async (slug: string) =>
  (await listApps(service.service)).filter((one) => one.slug === slug);

const submit = (path: string, typed?: Record<string, string>) =>
  submitForm(service, jar, { path, typed });

/** The key on a page. The log must not contain it. */
function readKey({ text }: TestResponse): string {
  const key = /<code id="key">([^<]+)<\/code>/.exec(text)?.[1] ?? "";
  service.secrets.add(key);
  return key;
}

const NEW_KEY = { name: "server", "scope data:read": "on", "scope data:write": "on", life: "30" };

test("a missing page of the Console keeps the navigation, and is not for people without a Console role", async () => {
  for (const path of ["/console/nowhere", "/console/apps/no-such-app"]) {
    const { status, text, headers } = await visit(service, jar, path);
    expect([path, status, headers.get("content-type")]).toEqual([
      path,
      404,
      "text/html; charset=utf-8",
    ]);
    expect(text).toContain('<nav class="side" aria-label="Console">');
  }
  expect((await visit(service, jar, "/authorize?app=no-such-app")).text).not.toContain("/console");
  const other = await signInAs(service, await makePerson(service));
  const denied = await visit(service, other, "/console");
  for (const path of ["/console/nowhere", "/console/apps/a/b/c/d", "/console/"]) {
    const { status, text } = await visit(service, other, path);
    expect([path, status, text]).toEqual([path, 403, denied.text]);
  }
  expectRedirect(
    await visit(service, new Map(), "/console/nowhere"),
    "/console/sign-in?to=%2Fconsole%2Fnowhere",
  );
});

test("an app, a key that is displayed once, and a first row are created from an empty service", async () => {
  const slug = `wiki-${crypto.randomUUID().slice(-8)}`;
  const made = await submit("/console/new-app", { slug, origins: `https://${slug}.example.org` });
  expectRedirect(made, `/console/apps/${slug}?done=created`);
  expect((await visit(service, jar, made.headers.get("location") ?? "")).text).toContain(
    "App created.",
  );
  const issued = await submit(`/console/apps/${slug}/new-key`, NEW_KEY);
  const key = readKey(issued);
  expect(issued.text).toContain(`ROWHOUSE_API_KEY=${key}`);
  expect(issued.text).toContain("This app has no tables yet");
  const keys = await visit(service, jar, `/console/apps/${slug}/keys`);
  expect(keys.text).toContain(key.slice(3, 19));
  expect(keys.text).not.toContain(key.split(".")[1] ?? "");
  const [{ id = "" } = {}] = await appsOf(slug);
  const holder = { id, slug, key };
  await service.pushSchema(holder, defineSchema({ notes: { title: t.string().required() } }));
  const json = { title: "Milk" };
  const row = await service.call(holder, "/v1/data/db/notes", { method: "POST", json });
  expect(row.status).toBe(201);
  expect((await visit(service, jar, "/console")).text).not.toContain("Three steps");
  const second = await submit(`/console/apps/${slug}/new-key`, NEW_KEY);
  readKey(second);
  expect(second.text).toContain("await db.notes.list();");
  expect(second.text).not.toContain("no tables yet");
});

test("a key for CI reads the schema and cannot push it", async () => {
  const typed = { name: "ci", "scope schema:read": "on", life: "30" };
  const key = readKey(await submit(`${appPath()}/new-key`, typed));
  expect((await service.call({ ...app, key }, "/v1/data/schema")).status).toBe(200);
  const pushed = await postDefinition(service, { ...app, key }, { version: 1, tables: [] });
  expect(pushed).toMatchObject({ status: 403, json: { error: "forbidden" } });
  expect((await visit(service, jar, `${appPath()}/keys`)).text).toContain("read schema");
});

test("the account page links to the Console only for administrators", async () => {
  expect((await visit(service, jar, "/login")).text).toContain('href="/console"');
  const member = await signInAs(service, await makePerson(service, { app }));
  expect((await visit(service, member, "/login")).text).not.toContain("/console");
});

test("a service without an administrator names the command that creates an administrator, and has no form for it", async () => {
  await using fresh = await openTestService({ identity: () => ({ cookieDomain: "example.org" }) });
  const page = await visit(fresh, new Map(), "/console/sign-in");
  expect(page.text).toContain("rowhouse admin create-user you@example.org --role super_admin");
  expect(page.text).not.toContain("<form");
  await makePerson(fresh, { consoleRole: "super_admin" });
  expect((await visit(fresh, new Map(), "/console/sign-in")).text).toContain('name="password"');
});

test("a form for a key that is sent twice creates one key, and the page reports it", async () => {
  const path = `${appPath()}/new-key`;
  const page = await visit(service, jar, path);
  const fields = { ...readHidden(page.text), ...NEW_KEY };
  readKey(await visit(service, jar, path, { fields }));
  const again = await visit(service, jar, path, { fields });
  expect([again.status, readKey(again)]).toEqual([422, ""]);
  expect(again.text).toContain("This form was already sent");
  expect((await keysOf(app)).length).toBe(2);
});

test("a key is rolled and revoked in the administrator's name", async () => {
  const keyId = app.key.slice(3, 19);
  const rolled = readKey(await submit(`${appPath()}/keys/${keyId}/roll`, { grace: "1h" }));
  expect((await service.call({ ...app, key: rolled }, "/v1/data/schema")).status).toBe(200);
  expect((await service.call(app, "/v1/data/schema")).status).toBe(200);
  expect((await submit(`${appPath()}/keys/${keyId}/revoke`)).status).toBe(303);
  expect((await service.call(app, "/v1/data/schema")).status).toBe(401);
  const [last, before] = await listAudit(service.service, 2);
  expect([last, before]).toMatchObject([
    { actor: admin.id, action: "revoke_key", app: app.slug },
    { actor: admin.id, action: "roll_key", app: app.slug },
  ]);
});

test("a page of one app cannot change a key of another app", async () => {
  const other = await service.makeApp();
  const path = `${appPath()}/keys/${other.key.slice(3, 19)}/revoke`;
  const fields = readHidden((await visit(service, jar, `${appPath()}/set-disabled`)).text);
  expect((await visit(service, jar, path)).status).toBe(404);
  expect((await visit(service, jar, path, { fields })).status).toBe(404);
  expect((await service.call(other, "/v1/data/schema")).status).toBe(200);
});

test("an app is disabled, enabled, and deleted after its name is typed", async () => {
  expect((await submit(`${appPath()}/set-disabled`)).status).toBe(303);
  expect((await service.call(app, "/v1/data/schema")).status).toBe(401);
  expect((await visit(service, jar, appPath())).text).toContain("This app is disabled");
  expect((await submit(`${appPath()}/set-disabled`)).status).toBe(303);
  expect((await service.call(app, "/v1/data/schema")).status).toBe(200);
  expect((await submit(`${appPath()}/delete`, { typed_name: "other" })).status).toBe(422);
  expect(await appsOf(app.slug)).toHaveLength(1);
  expect((await submit(`${appPath()}/delete`, { typed_name: app.slug })).status).toBe(303);
  expect(await appsOf(app.slug)).toEqual([]);
});

test("origins and redirects are validated, and all issues are listed", async () => {
  const bad = await submit(`${appPath()}/settings`, {
    origins: "http://x.example.org\nhttps://elsewhere.org",
    redirects: "not a URL",
  });
  expectPage(bad, 422, "must begin with https://", "must be a host under", "must be a URL");
});

test("a form that is rejected, or waits for a sign-in, does not repeat the notice of the form before", async () => {
  const path = `${appPath()}/settings`;
  const { text } = await visit(service, jar, `${path}?done=settings`);
  expect(text).toContain("Settings saved.");
  const action = /<form class="sheet[^>]* action="([^"]+)"/.exec(text)?.[1] ?? "";
  const fields = { ...readHidden(text), origins: "x" };
  const rejected = await visit(service, jar, action, { fields });
  expect([rejected.status, rejected.text.includes("Settings saved.")]).toEqual([422, false]);
  await write(`update rowhouse.sessions set expires_at = now() where user_id = '${admin.id}'`);
  const ended = await visit(service, jar, action, { fields });
  expect(ended.headers.get("location")).not.toContain("done");
});

test("two administrators who change the origins do not undo each other's change", async () => {
  const save = async (initial: string, origins: string) =>
    await submit(`${appPath()}/settings`, { initial_origins: initial, origins, redirects: "" });
  const urls = ["https://a.example.org", "https://b.example.org", "https://c.example.org"] as const;
  const [a, b, c] = urls;
  expect((await save("", `${a}\n${b}`)).status).toBe(303);
  const form = await visit(service, jar, `${appPath()}/settings`);
  expect(form.text).toContain(`name="initial_origins" value="${a}\n${b}"`);
  // Both open the page now. One removes b, the other adds c.
  expect((await save(`${a}\n${b}`, `${a}`)).status).toBe(303);
  expect((await save(`${a}\n${b}`, `${a}\n${b}\n${c}`)).status).toBe(303);
  const [{ targets = [] } = {}] = await appsOf(app.slug);
  expect(targets).toEqual([a, c]);
});

test("two administrators who change one limit each do not undo each other's change", async () => {
  const path = `${appPath()}/limits`;
  const { text } = await visit(service, jar, path);
  const save = async (typed: Record<string, string>) =>
    await visit(service, jar, path, {
      fields: { ...readHidden(text), perMinute: "", perMinuteOfKey: "", ...typed },
    });
  const rejected = await save({ perMinuteOfKey: "many" });
  expect((await save({ perMinute: "50" })).status).toBe(303);
  const fields = { ...readHidden(rejected.text), perMinute: "", perMinuteOfKey: "10" };
  expect((await visit(service, jar, path, { fields })).status).toBe(303);
  const settings = await visit(service, jar, `${appPath()}/settings`);
  expect(settings.text).toContain("50 requests per minute, 10 per key");
});

test("limits are validated and listed, and all issues are listed", async () => {
  const bad = await submit(`${appPath()}/limits`, { perMinute: "many", perMinuteOfKey: "<b>" });
  expectPage(bad, 422, "many", "&lt;b&gt;");
  expect(
    [...bad.text.matchAll(/aria-invalid="true"[^>]* value="(.*?)"/g)].map(([, value]) => value),
  ).toEqual(["many", "&lt;b&gt;"]);
  const zero = await submit(`${appPath()}/limits`, { perMinute: "0", perMinuteOfKey: "1" });
  expectPage(zero, 422, "Cannot set a limit of 0");
  const limits = { perMinute: "6,000", perMinuteOfKey: "600" };
  expect((await submit(`${appPath()}/limits`, limits)).status).toBe(303);
  const settings = await visit(service, jar, `${appPath()}/settings`);
  expect(settings.text).toContain("6,000 requests per minute, 600 per key");
});

test.each([
  { name: "without a name", typed: { ...NEW_KEY, name: " " } },
  { name: "with a bidirectional override in its name", typed: { ...NEW_KEY, name: "a\u202eb" } },
  { name: "without scopes", typed: { name: "x", life: "30" } },
  { name: "with an unknown lifetime", typed: { ...NEW_KEY, life: "31" } },
])("a key $name is rejected, and nothing is created", async ({ typed }) => {
  const before = await keysOf(app);
  expect((await submit(`${appPath()}/new-key`, typed)).status).toBe(422);
  expect(await keysOf(app)).toEqual(before);
});

test("a sensitive action without a recent sign-in requires the password again, and returns to the action", async () => {
  await write(
    `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where user_id = '${admin.id}'`,
  );
  const path = `${appPath()}/new-key`;
  const asked = `/console/sign-in?${new URLSearchParams({ to: path })}`;
  expectRedirect(await visit(service, jar, path), asked);
  expect((await visit(service, jar, asked)).text).toContain(`value="${admin.email}"`);
  expectRedirect(await submitSignIn(service, jar, { path: asked, email: admin.email }), path);
  expect((await visit(service, jar, path)).status).toBe(200);
});

test.each([
  { name: "another host", to: "https://evil.example" },
  { name: "a host without a scheme", to: "//evil.example" },
  { name: "a page outside the Console", to: "/console/../login" },
  { name: "a backslash", to: "/console/\\evil.example" },
])("a sign-in never redirects to $name", async ({ to }) => {
  const path = `/console/sign-in?${new URLSearchParams({ to })}`;
  expectRedirect(await submitSignIn(service, jar, { path, email: admin.email }), "/console");
});

test("a service without a login for the Console has no page of it", async () => {
  await using other = await openTestService({ service: { consoleDatabaseUrl: undefined } });
  const person = await signInAs(other, await makePerson(other, { consoleRole: "super_admin" }));
  for (const path of ["/console", "/console/sign-in", "/console/activity"])
    expect((await visit(other, person, path)).status).toBe(404);
});

test("input of people is escaped, keeps its direction, and does not stretch the page", async () => {
  const name = `<script>alert(1)</script>"'&\u202e${"x".repeat(10_000)}`;
  const key = { slug: app.slug, name, scopes: ["data:read" as const], expiresAt: undefined };
  await issueKey(testDeps(service.service), key);
  await write(
    `insert into rowhouse.audit_actions values ('<i>y</i>', false);
    insert into rowhouse.audit (actor, action, app, details) values ('<b>x</b>', '<i>y</i>', '${app.slug}', jsonb_build_object('z', '<img src=x>'))`,
  );
  for (const path of [appPath(), "/console", `/console/activity?app=${app.slug}&person=%3Cu%3E`]) {
    const page = await visit(service, jar, path);
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/<script>|<img src=x|<b>x|<i>y|<u>/);
    expect(page.text).not.toContain("x".repeat(200));
    expect(page.headers.get("content-security-policy")).toMatch(
      /; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'$/,
    );
    expect(page.headers.get("x-frame-options")).toBe("DENY");
  }
  const log = await visit(service, jar, `/console/activity?app=${app.slug}`);
  expect(log.text).toContain("<bdi>&lt;b&gt;x&lt;/b&gt;</bdi>");
});

/** The weight of a page is the bytes of a first visit with gzip, which the least capable browsers use. */
test.each(["/login", "/console", "/console/apps", "/console/activity", "/tables/todos"])(
  "%s transfers max 45 KB, and the page of rows 70 KB",
  async (page) => {
    const isOfApp = page.startsWith("/tables");
    if (isOfApp) await fillTodos();
    const path = isOfApp ? appPath() + page : page;
    if (page === "/login") jar = new Map();
    const { text } = await visit(service, jar, path);
    const assets = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, url]) => url);
    const sizes = new Map<string, number>();
    for (const url of new Set([path, ...assets])) {
      const headers = { "accept-encoding": "gzip", cookie: toCookieHeader(jar) };
      const response = await fetch(service.url + url, { headers, decompress: false });
      sizes.set(url ?? "", (await response.bytes()).length);
      // The size of a compressed page would reveal parts of its form's token.
      const hasToken = url === path && text.includes('name="form_token"');
      if (hasToken) expect(response.headers.get("content-encoding")).toBeNull();
    }
    expect(sizes.size).toBe(page === "/login" ? 4 : isOfApp ? 6 : 5);
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    console.log(`${page}: ${total} bytes, of these ${Object.values(Object.fromEntries(sizes))}`);
    expect(total).toBeLessThanOrEqual(isOfApp ? 70_000 : 45_000);
  },
);

/** A page of typical rows: eight columns with texts, dates and some JSON. */
async function fillTodos(): Promise<void> {
  const todos = {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.decimal(),
    due_at: t.timestamp(),
    is_paid: t.boolean(),
    meta: t.json(),
  };
  await service.pushSchema(app, defineSchema({ todos }));
  const json = Array.from({ length: 100 }, (_, place) => ({
    title: `Water the plants of the neighbours ${place}`,
    note: "The key is under the mat",
    hours: "1.50",
    due_at: "2026-11-21T18:00:00+01:00",
    is_paid: true,
    meta: { tags: ["home", "garden"] },
  }));
  const options = { method: "POST", json } as const;
  expect((await service.call(app, "/v1/data/db/todos", options)).status).toBe(201);
}
