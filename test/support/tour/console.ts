/** A visit to every page and form of the Console. @module */
import { expect } from "bun:test";
import { setAppSwitch } from "../../../src/accounts/apps/mod.ts";
import { APP_SWITCH_NAMES, toDashed } from "../../../src/app_switch.ts";
import { consoleRoutes } from "../../../src/console/mod.ts";
import { defineSchema, t } from "../../../src/dsl/mod.ts";
import { openEvents } from "../event_stream.ts";
import { type Jar, makePerson, readHidden, signInAs, toCookieHeader, visit } from "../people.ts";
import { enrolPerson } from "../second_factor.ts";
import type { TestApp, TestResponse, TestService } from "../service.ts";

/** Opens a page, or submits its form. */
export type ToPage = (path: string, fields?: Record<string, string>) => Promise<TestResponse>;

/** Opens every page of the Console, and submits every form. Creates, changes and deletes an app. */
export async function tourConsole(service: TestService, page: ToPage): Promise<void> {
  const submit = async (path: string, typed: Record<string, string> = {}) =>
    await page(path, { ...readHidden((await page(path)).text), ...typed });
  const appPage = "/console/apps/toured";
  const requestId = crypto.randomUUID();
  await service.service.admin.message(`insert into rowhouse.stored_requests (id, at, method, route, status, ms)
    values ('${requestId}', now(), 'GET', '/', 500, 1); select 1`);
  const storedRequest = `/requests/${requestId}`;
  for (const path of ["", "/apps", "/activity", "/requests", storedRequest, "/changes"])
    await page(`/console${path}`);
  for (const path of ["/find?q=tour", "/docs"]) await page(`/console${path}`);
  await submit("/console/new-app", { slug: "toured" });
  for (const path of ["", "/keys"]) await page(appPage + path);
  await submit(`${appPage}/settings`, { origins: "https://toured.example.org" });
  const typed = { name: "tour", life: "30", "scope data:read": "on" };
  const issued = await submit(`${appPage}/new-key`, typed);
  service.secrets.add(/<code id="key">([^<]+)</.exec(issued.text)?.[1] ?? "");
  const keyId = /<code id="key">rh_(\w+)\./.exec(issued.text)?.[1] ?? "";
  await submit(`${appPage}/keys/${keyId}/roll`, { grace: "1h" });
  await submit(`${appPage}/keys/${keyId}/revoke`);
  await tourPeople(service, page, submit);
  await tourTables(service, page, submit);
  await submit(`${appPage}/limits`, { perMinute: "6000" });
  for (const name of APP_SWITCH_NAMES) await submit(`${appPage}/set-${toDashed(name)}`);
  await submit(`${appPage}/delete`, { typed_name: "toured" });
  const withoutRole = await makePerson(service);
  expect((await visit(service, await signInAs(service, withoutRole), "/console")).status).toBe(403);
}

/** Displays, transfers, leaves and drops a table that two apps use. */
async function tourTables(service: TestService, page: ToPage, submit: ToPage): Promise<void> {
  const schema = defineSchema({ shared: { title: t.string() } });
  const [owner, user] = [await service.makeApp(schema), await service.makeApp(schema)];
  const table = "/console/tables/shared";
  const of = ({ slug }: TestApp) => `/console/apps/${slug}`;
  for (const path of ["/console/tables", table]) await page(path);
  for (const path of ["/activity", "/tables", "/pushes", "/pushes/1"]) await page(of(owner) + path);
  const person = (await makePerson(service)).id;
  for (const { path } of consoleRoutes.filter(({ path }) => path.endsWith(".csv")))
    await page(path.replace(":app", owner.slug).replace(":person", person));
  await tourRows(page, submit, `${of(owner)}/tables/shared`);
  const typed_name = "shared";
  await submit(`${table}/transfer`, { app: user.slug, typed_name });
  for (const app of [owner, user]) await submit(`${of(app)}/tables/shared/end`, { typed_name });
  await submit(`${table}/drop`, { typed_name });
}

/** Creates, changes, exports and deletes a row. */
async function tourRows(page: ToPage, submit: ToPage, table: string): Promise<void> {
  const title = { "value.title": "toured" };
  const created = await submit(`${table}/new`, title);
  const row = `${table}/rows/${created.headers.get("location")?.split("added=")[1]}`;
  await submit(row, title);
  await submit(`${table}/import`, { rows: "title\nimported" });
  await submit(`${table}/change`, { rows: row.split("/").at(-1) ?? "", column: "title" });
  for (const path of ["", "/export/csv", "/export/json", "/list"]) await page(table + path);
  await submit(`${row}/delete`);
}

/** Opens the Console's event stream for the changes of a live app's table. */

export async function tourChanges(service: TestService, jar: Jar): Promise<void> {
  const { slug } = await service.makeApp(defineSchema({ followed: { title: t.string() } }));
  await setAppSwitch(service.service, slug, ["live", true]);
  const events = await openEvents(`${service.url}/console/apps/${slug}/tables/followed/changes`, {
    headers: { cookie: toCookieHeader(jar) },
  });
  expect(await events.next()).toMatchObject({ kind: "changes", data: [] });
  await events.close();
}

/** Submits the forms of the account settings. The password stays the same. */

/** Invites, changes and deletes a person. */
async function tourPeople(service: TestService, page: ToPage, submit: ToPage): Promise<void> {
  const app = "/console/apps/toured";
  const email = "visited@example.org";
  const created = await submit("/console/new-person", { email });
  const linked = (response: TestResponse) =>
    service.secrets.add(/<code id="link">[^<]*token=([^<]+)</.exec(response.text)?.[1] ?? "");
  linked(created);
  const { text } = await page("/console/people?q=visited");
  const person = /href="(\/console\/people\/[^"]+)"/.exec(text)?.[1] ?? "";
  await page(person);
  linked(await submit(`${person}/password-link`));
  await page("/console/invitations");
  linked(await submit(`${person}/resend-invitation`));
  await submit(`${person}/console-role`, { console_role: "admin" });
  await submit(`${person}/new-role`, { app: "toured", role: "reader" });
  await submit(`${app}/add-person`, { email, role: "editor", new_role: "editor" });
  await page(`${app}/people`);
  await submit(`${app}/end-sessions`);
  const role = `${app}/people/${person.split("/").at(-1)}`;
  await submit(role, { role: "reader", new_role: "reader" });
  await submit(`${role}/revoke`);
  await submit(`${person}/address`, { new_email: email });
  await submit(`${person}/sessions/0000000000000000`);
  await submit(`${person}/end-sessions`);
  await submit(`${person}/state`);
  await submit(`${person}/delete`, { typed_address: email });
  const factored = await makePerson(service);
  await enrolPerson(service, factored);
  await submit(`/console/people/${factored.id}/second-factor`);
  linked(await submit("/console/new-person", { email }));
  const several = { email: "first@example.org\nsecond@example.org", app: "toured", role: "reader" };
  for (const link of (await submit("/console/new-person", several)).text.matchAll(
    /token=([^<"&]+)/g,
  ))
    service.secrets.add(link[1] ?? "");
  const again = await page("/console/invitations");
  const [, path = ""] = /href="([^"]+\/withdraw-invitation)/.exec(again.text) ?? [];
  await submit(path);
}
