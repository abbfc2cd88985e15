/** A visit to every page and form of the Console. @module */
import { expect } from "bun:test";
import { toSessionToken } from "../../../src/identity/mod.ts";
import { setAppSwitch } from "../../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { openEvents } from "../event_stream.ts";
import { type Jar, makePerson, signInAs, toCookieHeader, visit } from "../people.ts";
import {
  CONSOLE_FORMS,
  CONSOLE_PAGES,
  CONSOLE_WRITES,
  IMPORT,
  makeSubjects,
} from "../samples/console.ts";
import { fillForm } from "../samples/forms.ts";
import { fillPath } from "../samples/routes.ts";
import type { TestResponse, TestService } from "../service.ts";

/** Opens a page, or submits its form. */
export type ToPage = (path: string, fields?: Record<string, string>) => Promise<TestResponse>;

/** Opens every page of the Console, and submits every form, which ends with the app and the person. */
export async function tourConsole(service: TestService, page: ToPage): Promise<void> {
  const { app, toPath } = await makeSubjects(service, "toured");
  const submit = async (path: string, typed: Record<string, string> = {}) => {
    const filled = fillForm((await page(path)).text, app);
    const { text } = await page(path, { ...filled, ...typed });
    for (const [, key, token] of text.matchAll(/<code id="key">([^<]+)|token=([^<"&]+)/g))
      service.secrets.add(key ?? token);
  };
  // Without live updates, the path of their stream is unknown.
  const isStream = (path: string) => path.endsWith("/:table/changes");
  for (const path of CONSOLE_PAGES) if (!isStream(path)) await page(toPath(path));
  await page("/console/docs");
  await page("/console/apps?sort=-slug");
  const several = {
    email: "first@example.org\nsecond@example.org",
    name: "",
    console_role: "none",
  };
  await submit("/console/new-person", several);
  for (const { path, isOfDev } of CONSOLE_FORMS) if (isOfDev !== true) await submit(toPath(path));
  const withoutRole = await makePerson(service);
  expect((await visit(service, await signInAs(service, withoutRole), "/console")).status).toBe(403);
}

/** Opens the event streams of a live app's table: the Console's and the app's. */
export async function tourChanges(service: TestService, jar: Jar): Promise<void> {
  const { slug, key } = await service.makeApp(defineSchema({ followed: { title: t.string() } }));
  await tourWrites(service, jar, slug);
  await setAppSwitch(service.service, slug, ["live", true]);
  const events = await openEvents(`${service.url}/console/apps/${slug}/data/followed/changes`, {
    headers: { cookie: toCookieHeader(jar) },
  });
  expect(await events.next()).toMatchObject({ kind: "changes", data: [] });
  await events.close();
  await using ofApp = await openEvents(`${service.url}/v1/data/db/followed/changes`, { key });
  expect(await ofApp.next()).toMatchObject({ kind: "ready" });
}

/** Writes rows as the grid's script does. */
async function tourWrites(service: TestService, jar: Jar, app: string): Promise<void> {
  const headers = { cookie: toCookieHeader(jar), origin: service.url };
  const token = toSessionToken(new Request(service.url, { headers }));
  let id = "";
  for (const { method, path } of CONSOLE_WRITES) {
    const isList = method === "PATCH" && !path.endsWith("/:id");
    const isImport = path.endsWith("/imports");
    const row = isImport ? IMPORT : { ...(isList ? { id } : {}), title: method };
    const response = await fetch(service.url + fillPath(path, { app, table: "followed", id }), {
      method,
      headers: { ...headers, "form-token": token, "content-type": "application/json" },
      ...(method === "DELETE" ? {} : { body: JSON.stringify(isList ? [row] : row) }),
    });
    expect([method, response.ok]).toEqual([method, true]);
    if (method === "POST" && !isImport) id = ((await response.json()) as { id: string }).id;
    else await response.text();
  }
}
