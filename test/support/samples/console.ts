/** Every page and form of the Console, with subjects for which each page exists and each form succeeds. @module */

import { consoleRoutes } from "../../../src/console/mod.ts";
import { readRows } from "../../../src/db/mod.ts";
import { readList } from "../../../src/records/actions/mod.ts";
import { endRegistration, setAppSwitch } from "../../../src/records/apps/mod.ts";
import { sessionList } from "../../../src/records/people/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { withDatabase } from "../cluster.ts";
import { makePerson, type Person, signInAs } from "../people.ts";
import { invite } from "../provider_people.ts";
import type { TestApp, TestService } from "../service.ts";
import { fillPath } from "./routes.ts";

/** Without the sign-in, and without the redirect to the docs. */
const ROUTES = consoleRoutes.filter(({ path }) => !/^\/console\/(sign-in|docs)$/.test(path));
export const CONSOLE_PAGES: readonly string[] = ROUTES.filter(({ method }) => method === "GET").map(
  ({ path }) => path,
);
/** Beginnings of the parts of a path. Forms that create something come first, then all others, forms that end something last. */
const FIRST = "new-";
const LAST = ["revoke", "withdraw", "second-factor", "end", "state", "set-", "delete"];
/** The forms, in an order in which each can succeed. */
export const CONSOLE_FORMS = ROUTES.filter(
  ({ method, path }) => method === "POST" && !isDataPath(path),
).toSorted((a, b) => toPlace(a.path) - toPlace(b.path));
/** What the scripts of the grid can write. */
export const CONSOLE_WRITES = ROUTES.filter(
  ({ method, path }) => method !== "GET" && isDataPath(path),
);

function isDataPath(path: string): boolean {
  return path.startsWith("/console/apps/:app/data/");
}

function toPlace(path: string): number {
  const parts = path.split("/");
  if (parts.some((part) => part.startsWith(FIRST))) return -2;
  // The row is deleted after its other forms, and before its table.
  if (parts.includes(":row")) return path.endsWith("/delete") ? -0.5 : -1;
  return LAST.findIndex((word) => parts.some((part) => part.startsWith(word)));
}

export type ConsoleSubjects = {
  app: TestApp;
  person: Person;
  /** The path of a page, of another person with `of`. */
  toPath: (template: string, of?: Person) => string;
};

/** The table of each action on a table: no app uses the first, and two apps use the second. */
const TABLES: Readonly<Record<string, string>> = { drop: "unused", transfer: "shared" };

/** Creates an app with a row of this title, a person with a role, a session and a passkey, an invitation, and a failed request. */
export async function makeSubjects(service: TestService, title: string): Promise<ConsoleSubjects> {
  const { admin } = service.service;
  const columns = { title: t.string().required() };
  const app = await service.makeApp(defineSchema({ secrets: columns, unused: columns }));
  await withDatabase(service.database.rowsUrl, (rows) =>
    endRegistration({ admin, rows }, { slug: app.slug, table: "unused", expected: ["unused"] }),
  );
  // One of these can transfer its table to the other.
  for (const _ of [1, 2]) await service.makeApp(defineSchema({ shared: columns }));
  const made = await service.call(app, "/v1/data/db/secrets", { method: "POST", json: { title } });
  const { id: row } = made.json as { id: string };
  const [person, invited] = [await makePerson(service, { app }), await invite(service)];
  await signInAs(service, person);
  const { sessions } = await readList(service.service, sessionList, { of: person.email });
  const request = crypto.randomUUID();
  await admin.message(`
    insert into rowhouse.passkeys (credential_id, user_id, public_key, label, digest, secret_id)
      values (sha256('x'), '${person.id}', 'x', 'x', sha256('x'), 'x');
    insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms)
      values ('${request}', '${app.id}', now(), 'GET', '/', 422, 'validation_failed', 1);
    insert into rowhouse.audit (actor, action, is_change, details) values ('${person.id}', 'begin_import', false,
      '${JSON.stringify({ ...IMPORT.about, appId: app.id, table: "secrets", from: 0 })}');
    select 1`);
  const change = await makeChange(service, app);
  await admin.message(`set local rowhouse.app_id = '${app.id}';
    insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, bytes)
      select app_id, table_name, gen_random_uuid(), 'console ${person.id} ${IMPORT.about.act}', before, bytes
      from rowhouse.row_changes where app_id = '${app.id}' and table_name = 'secrets' and after is null limit 1;
    select 1`);
  const toPath = (template: string, of?: Person) => {
    const path = fillPath(template, {
      app: app.slug,
      key: app.key.slice(3, 19),
      person: (of ?? (/(-invitation|\/address)$/.test(template) ? invited : person)).id,
      session: sessions[0]?.id ?? "",
      table: TABLES[template.split("/").at(-1) ?? ""] ?? "secrets",
      seq: "1",
      row,
      id: row,
      act: IMPORT.about.act,
      request,
    });
    // Search results are only for administrators, too.
    if (path.endsWith("/find")) return `${path}?q=${app.slug}`;
    return path.endsWith("/restore") ? `${path}?change=${change}` : path;
  };
  return { app, person, toPath };
}

/** What the script of an import sends to its path, which is a write. */
export const IMPORT = {
  step: "begin_import",
  about: { act: crypto.randomUUID(), file: "rows.csv", digest: "0".repeat(64), rows: 1 },
};

/** The id of a deleted row's change in the history of the app. */
async function makeChange(service: TestService, app: TestApp): Promise<string> {
  const { admin } = service.service;
  await setAppSwitch(service.service, app.slug, ["history", true]);
  const path = "/v1/data/db/secrets";
  const made = await service.call(app, path, { method: "POST", json: { title: "deleted" } });
  const { id } = made.json as { id: string };
  await service.call(app, `${path}/${id}`, { method: "DELETE" });
  const [row] = await readRows<{ id: string }>(
    admin,
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    select id::text as id from entered, rowhouse.row_changes where app_id = $1::uuid`,
    [app.id],
  );
  return row?.id ?? "";
}
