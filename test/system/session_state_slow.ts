/**
 * Checks that a service behind PgBouncer, with pushes and pages, uses no session state. The evidence is PostgreSQL's log
 * of every statement, its locks, and the state of the pooler's sessions.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setAppLive, setPeopleList } from "../../src/accounts/apps/mod.ts";
import { createUser } from "../../src/accounts/people/mod.ts";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { pages, routes } from "../../src/service/routes.ts";
import { makeAuthenticator } from "../support/authenticator.ts";
import {
  CONSOLE_LOGIN,
  LOGIN,
  PASSWORD as LOGIN_PASSWORD,
  PUSH_LOGIN,
  withDatabase,
} from "../support/cluster.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { testDeps } from "../support/deps.ts";
import { openEvents } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { type MailServer, openMailServer } from "../support/mail_server.ts";
import { addPasskey, toNamed } from "../support/passkeys.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  readToken,
  signInAs,
  submitSignIn,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { PGBOUNCER, type Pooler, startPooler } from "../support/pgbouncer.ts";
import { startProvider, type TestProvider } from "../support/provider.ts";
import { signInWith } from "../support/provider_people.ts";
import { postSchema } from "../support/push.ts";
import { enrol, enrolPerson, enterFactor, SECURITY } from "../support/second_factor.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../support/service.ts";

const POOL = 2;
/** The pooler requires a password; the cluster does not. */
const ADMIN_PASSWORD = "an administrator's password";
/** Matches session state in a statement without the bodies of the functions that it creates. */
const SESSION_STATEMENTS = [
  /(^|;)\s*set\s+(?!local\b)/i,
  /(^|;)\s*(listen|unlisten|discard|prepare|deallocate|begin|start|declare|create\s+temp)\b/i,
];
const SESSION_LOCK = /pg_(try_)?advisory_lock(_shared)?\s*\(/i;
/** PgBouncer sends this statement when it assigns a server connection to another client. */
const OF_POOLER = /^SET application_name='[^']*';$/;

let cluster: DebianCluster;
let pooler: Pooler;
let provider: TestProvider;
let mails: MailServer;
let service: TestService;
let app: TestApp;
/** Connections through the pooler as the serving login, the pushing login, the administrator and the Console's login. */
let sharers: Database[];

/** The number of log entries that are already checked. */
let seen = 0;

type Entry = { dbname?: string; application_name?: string; message?: string };

/** Returns the logged statements of this database, without the test's statements. */
async function readStatements(): Promise<string[]> {
  const [row] = await withDatabase(service.database.adminUrl, (admin) =>
    admin.query<{ text: string }>("select pg_read_file('log/server.json') as text", [], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  return (row?.text ?? "")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Entry)
    .filter(
      (entry) =>
        entry.dbname === service.database.name && entry.application_name !== "rowhouse test",
    )
    .flatMap(
      (entry) => /^(?:statement|execute [^:]*): ([\s\S]*)$/.exec(entry.message ?? "")?.[1] ?? [],
    );
}

const PROBE = `select pg_backend_pid() as pid, concat_ws(' ',
    (select string_agg('setting ' || name, ' ') from pg_settings where source = 'session' and name <> 'application_name'),
    (select string_agg('channel ' || channel, ' ') from pg_listening_channels() as channel),
    (select string_agg('statement ' || name, ' ') from pg_prepared_statements where name <> ''),
    (select string_agg('table ' || relname, ' ') from pg_class where relnamespace = pg_my_temp_schema())) as left_over,
  pg_sleep(0.02)`;

/** Returns the session state in each of the pooler's sessions. */
async function readLeftOver(sharer: Database): Promise<string[]> {
  const found = new Map<number, string>();
  await eventually(async () => {
    const probes = Array.from({ length: 2 * POOL }, () =>
      sharer.query<{ pid: number; left_over: string }>(PROBE, [], {
        retry: "safe",
        queue: SERVICE_QUEUE,
      }),
    );
    for (const [row] of await Promise.all(probes)) found.set(row?.pid ?? 0, row?.left_over ?? "");
    return found.size >= POOL;
  });
  return [...found.values()].filter((text) => text !== "");
}

/** Lists the locks and transactions of idle sessions. */
const IDLE_HOLDERS = `select coalesce(string_agg(distinct case when state = 'idle' then locktype else state end, ' '), '') as text
  from pg_stat_activity left join pg_locks using (pid)
  where datname = current_database() and application_name <> 'rowhouse test'
    and ((state = 'idle' and locktype = 'advisory') or state like 'idle in transaction%')`;

function needsSession(text: string): boolean {
  if (OF_POOLER.test(text)) return false;
  const own = text.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "");
  return SESSION_LOCK.test(text) || SESSION_STATEMENTS.some((pattern) => pattern.test(own));
}

/** Returns every sign of session state: statements, locks and leftovers. */
async function findSessionUse(): Promise<string[]> {
  const statements = (await readStatements()).slice(seen).filter(needsSession);
  const holders = await withDatabase(service.database.adminUrl, (admin) =>
    admin.query<{ text: string }>(IDLE_HOLDERS, [], { retry: "safe", queue: SERVICE_QUEUE }),
  );
  const held = holders.map(({ text }) => text).filter((text) => text !== "");
  // Do not probe a session with an open transaction: the probe would wait for the transaction.
  if (held.length > 0) return [...statements, ...held];
  const left = await Promise.all((sharers ?? []).map(readLeftOver));
  return [...statements, ...left.flat()];
}

describe.skipIf(PGBOUNCER === null || !hasDebianPostgres)("PostgreSQL behind PgBouncer", () => {
  beforeAll(async () => {
    cluster = await startDebianCluster({
      settings: [
        "logging_collector=on",
        "log_destination=jsonlog",
        "log_directory=log",
        "log_filename=server.log",
        "log_statement=all",
      ],
    });
    const admin = new URL(cluster.url);
    admin.password = ADMIN_PASSWORD;
    pooler = await startPooler(cluster.url, {
      poolSize: POOL,
      clients: 60,
      users: {
        [admin.username]: ADMIN_PASSWORD,
        [LOGIN]: LOGIN_PASSWORD,
        [PUSH_LOGIN]: LOGIN_PASSWORD,
        [CONSOLE_LOGIN]: LOGIN_PASSWORD,
      },
    });
    const trustedDomains = ["example.org"];
    mails = await openMailServer();
    provider = await startProvider({ name: "ours", trustedDomains, creates: true });
    const opened = await openTestService({
      shape: "one",
      cluster: { admin: admin.href, serving: admin.href, prepare: false },
      toServingUrl: pooler.toUrl,
      toAdminUrl: pooler.toUrl,
      identity: (port) => ({
        cookieDomain: "example.org",
        publicUrl: `http://localhost:${port}`,
        providers: [provider.settings],
      }),
      service: {
        previews: ["live"],
        mail: { url: mails.url, from: { name: "", address: "x@example.org" } },
      },
    });
    service = toNamed(opened);
    provider.register(`${service.url}/oidc/ours/callback`);
    provider.accounts.set("provided", { email: "provided@example.org", email_verified: true });
    service.secrets.add(provider.settings.clientSecret);
    const { servingUrl, pushUrl, adminUrl, consoleUrl } = service.database;
    sharers = [servingUrl, pushUrl, adminUrl, consoleUrl].map((url) =>
      openDatabase({ url: pooler.toUrl(url), connections: 5, prepare: false, name: "sharer" }),
    );
    app = await service.makeApp(undefined, { origins: ["https://app.example.org"] });
  }, 30_000);
  afterAll(async () => {
    await Promise.all((sharers ?? []).map((sharer) => sharer.close(1)));
    await service?.close();
    await provider?.stop();
    await mails?.close();
    await pooler?.close();
    await cluster?.stop();
  });

  test("has run every route without session state", async () => {
    const responses = await tour();
    expect(responses.filter(({ status }) => status >= 400).map(({ text }) => text)).toEqual([]);
    const requested = service.log
      .map((line) => JSON.parse(line) as { event: string; method: string; route: string })
      .filter(({ event }) => event === "request")
      .map(({ method, route }) => `${method} ${route}`);
    const every = [...routes, ...pages].map(({ method, path }) => `${method} ${path}`);
    expect(
      every.filter((route) => !requested.includes(route) && !route.includes("/assets/")),
    ).toEqual([]);
    await eventually(async () => (await readStatements()).some((text) => text.includes("api.")));
    const logged = (await readStatements()).join("\n");
    for (const term of ["_list", "_create", "create table", "read_page_session", "finish_sign_in"])
      expect(logged).toContain(term);
    expect(await findSessionUse()).toEqual([]);
  });

  test.each([
    { text: "set statement_timeout = 12345", expected: "setting statement_timeout" },
    {
      text: "select set_config('statement_timeout', '12345', false)",
      expected: "setting statement_timeout",
    },
    { text: "listen elsewhere", expected: "channel elsewhere" },
    { text: "select pg_advisory_lock(1)", expected: "advisory", asAdmin: true },
    {
      text: "do $$ begin perform pg_advisory_lock(2); end $$",
      expected: "advisory",
      asAdmin: true,
    },
    { text: "prepare mine as select 1", expected: "statement mine" },
    { text: "create temporary table mine (id int)", expected: "table mine", asAdmin: true },
    { text: "begin", expected: "idle in transaction" },
  ])("the check detects $text", async ({ text, expected, asAdmin = false }) => {
    seen = (await readStatements()).length;
    expect(await findSessionUse()).toEqual([]);
    await sharers[asAdmin ? 2 : 0]?.message(text);
    await eventually(async () => (await readStatements()).slice(seen).includes(text));
    expect((await findSessionUse()).join("\n")).toContain(expected);
    await withDatabase(service.database.adminUrl, (admin) =>
      admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      ),
    );
  });

  test.each(["set statement_timeout = 1", "listen x", "begin", "select pg_advisory_lock(1)"])(
    "the check detects %p in the statement",
    (text) => expect(needsSession(text)).toBe(true),
  );
});

type Step = () => Promise<TestResponse>;

/** Calls every route of the table with a request that succeeds. */
async function tour(): Promise<TestResponse[]> {
  const responses: TestResponse[] = [];
  const jar: Jar = new Map();
  const ask = async (step: Step): Promise<TestResponse> => {
    const response = await step();
    responses.push(response);
    return response;
  };
  const call = (path: string, method = "GET", json?: object) =>
    ask(() => service.call(app, path, { method, ...(json === undefined ? {} : { json }) }));
  const page = (path: string, fields?: Record<string, string>) =>
    ask(() => visit(service, jar, path, fields === undefined ? undefined : { fields }));

  for (const columns of [{ title: t.string() }, { title: t.string(), note: t.string().index() }])
    await ask(() => postSchema(service, app, defineSchema({ todos: columns })));
  for (const path of ["/v1/data/schema", "/v1/data/schema/migrations/1", "/v1/openapi.json"])
    await call(path);
  const second = { service, app: await service.makeApp() };
  const grown = defineSchema({ notes: { title: t.string(), note: t.string().index() } });
  const history = makeHistory([defineSchema({ notes: { title: t.string() } }), grown]);
  await ask(() => postMigrations(second, history, grown, { dryRun: true }));
  for (const text of history) await ask(() => postMigrations(second, [text], grown));
  const change = { kind: "rename_column", table: "notes", column: "note", to: "text" };
  const asOwner = (path: string, json: object) =>
    ask(() => service.call(second.app, path, { method: "POST", json }));
  await asOwner("/v1/data/schema/changes", { change });
  const notes = definitionOf(
    defineSchema({ notes: { title: t.string(), text: t.string().index() } }),
  );
  const joined = { migrations: history, definition: notes, declared: notes };
  await asOwner("/v1/data/schema/joins", joined);
  const created = await call("/v1/data/db/todos", "POST", { title: "tour" });
  const row = created.headers.get("location") ?? "";
  await call(row);
  await call(row, "PATCH", { title: "changed" });
  await call("/v1/data/db/todos?limit=1");
  await call(row, "DELETE");
  for (const path of ["/live", "/ready"]) await call(path);

  const { email, link } = await makeInvited();
  const password = "seven slow green boats";
  const hidden = readHidden((await page(link)).text);
  await page("/set-password", { ...hidden, password, password_again: password });
  for (const path of ["/", "/login"]) await page(path);
  const target = new URLSearchParams({ app: app.slug, redirect_uri: "https://app.example.org/" });
  const path = `/authorize?${target}`;
  await ask(() => submitSignIn(service, new Map(), { path, email, password }));
  await page(path);
  await ask(() => submitSignIn(service, new Map(), { email, password }));
  const form_token = readToken((await page("/forgot")).text);
  await page("/forgot", { form_token, email });
  const me = `/v1/auth/me?app=${app.slug}`;
  await ask(() => service.call(undefined, me, { headers: { cookie: toCookieHeader(jar) } }));
  await setPeopleList(service.service, app.slug, true);
  const people = `/v1/auth/people?app=${app.slug}`;
  await ask(() => service.call(undefined, people, { headers: { cookie: toCookieHeader(jar) } }));
  const consoleSignIn = "/console/sign-in";
  await ask(() => submitSignIn(service, jar, { path: consoleSignIn, email, password }));
  await tourConsole(page);
  await tourChanges(jar);
  await tourAccount(page, password);
  const { app: authenticator } = await enrol(service, jar);
  const submitSecurity = async (action: string) =>
    await page(SECURITY, { ...readHidden((await page(SECURITY)).text), act: action });
  await submitSecurity("codes");
  const held = await signInAs(service, await makePerson(service));
  const passkey = { authenticator: makeAuthenticator(service.url) };
  await ask(() => addPasskey(service, held, passkey));
  const waiting: Jar = new Map();
  await ask(() => submitSignIn(service, waiting, { email, password }));
  await ask(() => enterFactor(service, waiting, { code: authenticator.code() }));
  await page("/add-second-factor");
  await submitSecurity("remove");
  const provided: Jar = new Map();
  await ask(() => visit(service, provided, "/oidc/ours"));
  await ask(() => signInWith(service, provided, { login: "provided" }));
  await page("/sign-out", { form_token: readToken((await page("/login")).text) });
  const other: Jar = new Map();
  await ask(() => submitSignIn(service, other, { email, password }));
  await ask(() =>
    service.call(undefined, "/v1/auth/logout", {
      method: "POST",
      headers: { cookie: toCookieHeader(other) },
    }),
  );
  return responses;
}

type Page = (path: string, fields?: Record<string, string>) => Promise<TestResponse>;

/** Opens every page of the Console, and submits every form. Creates, changes and deletes an app. */
async function tourConsole(page: Page): Promise<void> {
  const submit = async (path: string, typed: Record<string, string> = {}) =>
    await page(path, { ...readHidden((await page(path)).text), ...typed });
  const appPage = "/console/apps/toured";
  const requestId = crypto.randomUUID();
  await service.service.admin.message(`insert into rowhouse.stored_requests (id, at, method, route, status, ms)
    values ('${requestId}', now(), 'GET', '/', 500, 1); select 1`);
  const storedRequest = `/requests/${requestId}`;
  for (const path of [
    "",
    "/apps",
    "/activity",
    "/activity/csv",
    "/requests",
    storedRequest,
    "/changes",
  ])
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
  await tourPeople(page, submit);
  await tourTables(page, submit);
  await submit(`${appPage}/limits`, { perMinute: "6000" });
  await submit(`${appPage}/state`);
  await submit(`${appPage}/live`);
  await submit(`${appPage}/people-list`);
  await submit(`${appPage}/delete`, { typed_name: "toured" });
}

/** Displays, transfers, leaves and drops a table that two apps use. */
async function tourTables(page: Page, submit: Page): Promise<void> {
  const schema = defineSchema({ shared: { title: t.string() } });
  const [owner, user] = [await service.makeApp(schema), await service.makeApp(schema)];
  const table = "/console/tables/shared";
  const of = ({ slug }: TestApp) => `/console/apps/${slug}`;
  for (const path of ["/console/tables", table]) await page(path);
  for (const path of ["/activity", "/tables", "/pushes", "/pushes/1"]) await page(of(owner) + path);
  await tourRows(page, submit, `${of(owner)}/tables/shared`);
  const typed_name = "shared";
  await submit(`${table}/transfer`, { app: user.slug, typed_name });
  for (const app of [owner, user]) await submit(`${of(app)}/tables/shared/end`, { typed_name });
  await submit(`${table}/drop`, { typed_name });
}

/** Creates, changes, exports and deletes a row. */
async function tourRows(page: Page, submit: Page, table: string): Promise<void> {
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
async function tourChanges(jar: Jar): Promise<void> {
  const { slug } = await service.makeApp(defineSchema({ followed: { title: t.string() } }));
  await setAppLive(service.service, slug, true);
  const events = await openEvents(`${service.url}/console/apps/${slug}/tables/followed/changes`, {
    headers: { cookie: toCookieHeader(jar) },
  });
  expect(await events.next()).toMatchObject({ kind: "changes", data: [] });
  await events.close();
}

/** Submits the forms of the account settings. The password stays the same. */
async function tourAccount(page: Page, password: string): Promise<void> {
  for (const [path, typed] of [
    ["/account", { name: "Toured", picture: "" }],
    ["/account/password", { present: password, password, password_again: password }],
    ["/account/sessions", { session: "others" }],
    ["/account/linked", { provider: "ours", act: "link" }],
  ] as const) {
    const { text } = await page(path);
    // The list of sessions has a form only if other sessions exist.
    const formPage = text.includes("form_token") ? text : (await page("/account")).text;
    await page(path, { ...typed, form_token: readToken(formPage) });
  }
}

/** Invites, changes and deletes a person. */
async function tourPeople(page: Page, submit: Page): Promise<void> {
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
  await submit(`${app}/add-person`, { email, role: "editor" });
  await page(`${app}/people`);
  await submit(`${app}/end-sessions`);
  const role = `${app}/people/${person.split("/").at(-1)}`;
  await submit(role, { role: "reader" });
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
  const again = await page("/console/invitations");
  const [, path = ""] = /href="([^"]+\/withdraw-invitation)/.exec(again.text) ?? [];
  await submit(path);
}

/** Creates a person who can open the app, with a password link. */
async function makeInvited(): Promise<{ email: string; link: string }> {
  const email = "invited@example.org";
  const { linkText } = await createUser(testDeps(service.service), {
    email,
    displayName: undefined,
    consoleRole: "super_admin",
  });
  service.secrets.add(linkText);
  return { email, link: `/set-password?token=${linkText}` };
}
