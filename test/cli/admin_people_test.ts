/** `rowhouse admin` for people: accounts, passwords, roles and sessions. @module */
import { expect, test } from "bun:test";
import { openAdmin } from "../support/admin.ts";
import {
  choosePassword,
  type Jar,
  makePerson,
  readMe,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { share } from "../support/share.ts";

const PASSWORD = "seven slow green boats";

const admin = await share(openAdmin());
const json = admin.json;
await admin.service.makeApp(undefined, { slug: "wiki" });

test("a person is created, sets a password by the link, gets a role, loses the role, and is disabled", async () => {
  const email = "ada@example.org";
  const user = await json("create-user", "Ada@Example.org", "--name", "Ada");
  expect(user).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email,
    consoleRole: null,
    isMailed: false,
    passwordLink: expect.stringMatching(
      /^https:\/\/id\.example\.org\/set-password\?token=[a-z0-9]{16}\.[0-9A-Za-z]{32}$/,
    ),
  });
  const path = String(user["passwordLink"]).replace("https://id.example.org", "");
  const jar: Jar = new Map();
  expect((await choosePassword(admin.service, path, PASSWORD, jar)).status).toBe(303);
  const status = async () => (await readMe(admin.service, jar, "wiki")).status;
  expect(await status()).toBe(403);
  const granted = { email, app: "wiki", role: "editor" };
  expect(await json("grant", email, "wiki", "editor")).toEqual(granted);
  expect(await status()).toBe(200);
  expect(await json("revoke", email, "wiki")).toEqual({ email, app: "wiki", role: null });
  expect(await status()).toBe(403);
  expect(await admin.run("revoke", email, "wiki")).toMatchObject({ code: 1, out: "" });
  expect(await json("set-role", email, "admin")).toEqual({ email, consoleRole: "admin" });
  expect(await status()).toBe(200);
  const changed = { email: "ada.lovelace@example.org", before: email };
  expect(await json("change-email", email, changed.email)).toEqual(changed);
  expect((await admin.run("change-email", "ada", "bo")).err).toMatch(/"ada".*"bo"/s);
  await json("change-email", changed.email, email);
  expect(await json("set-role", email, "none")).toEqual({ email, consoleRole: null });
  const asTyped = email.toUpperCase().replace("@EXAMPLE", "@example");
  expect(await json("sessions", asTyped)).toMatchObject({ email, sessions: [{}] });
  expect(await json("sessions", email, "--end")).toEqual({ email, ended: 1 });
  expect(await status()).toBe(401);
  await submitSignIn(admin.service, jar, { email, password: PASSWORD });
  expect(await json("disable", email)).toEqual({ email, disabled: true });
  expect(await status()).toBe(401);
  const signIn = () => submitSignIn(admin.service, new Map(), { email, password: PASSWORD });
  expect((await signIn()).status).toBe(422);
  expect(await json("enable", email)).toEqual({ email, disabled: false });
  expect((await signIn()).status).toBe(303);
  const { entries } = await json("audit", "--limit", "3");
  expect(entries).toMatchObject([
    { action: "sign_in", email, actor: user["id"] },
    { action: "enable", email, actor: "operator" },
    { action: "disable", email, actor: "operator" },
  ]);
});

test("password-link reports that a disabled account cannot use the link yet", async () => {
  const person = await makePerson(admin.service);
  const says = "The account is disabled: the link works once rowhouse admin enable";
  expect((await admin.run("password-link", person.email)).out).not.toContain(says);
  await json("disable", person.email);
  expect((await admin.run("password-link", person.email)).out).toContain(says);
});

test("reset-second-factor fails for a person without a second factor, and changes nothing", async () => {
  const person = await makePerson(admin.service);
  const jar = await signInAs(admin.service, person);
  expect(await admin.run("reset-second-factor", person.email)).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining(`${person.email} has no second factor`),
  });
  expect((await visit(admin.service, jar, "/account")).status).toBe(200);
  const { entries } = await json("audit", "--limit", "1");
  expect(entries).toEqual([expect.objectContaining({ action: "sign_in" })]);
});

test("end-sessions ends only the sessions of people with a role on the app", async () => {
  const { service, run } = admin;
  const app = await service.makeApp();
  const member = await makePerson(service, { app, role: "reader" });
  const other = await makePerson(service, { app: await service.makeApp() });
  for (const person of [member, member, other]) await signInAs(service, person);
  expect(await json("end-sessions", "--app", app.slug)).toEqual({ app: app.slug, ended: 2 });
  expect((await json("sessions", member.email))["sessions"]).toEqual([]);
  expect((await json("sessions", other.email))["sessions"]).toHaveLength(1);
  expect((await run("end-sessions", "--app", app.slug)).out).toBe(
    `Ended 0 sessions of people with a role on ${app.slug}\n`,
  );
  const { entries } = await json("audit", "--limit", "2");
  expect(entries).toMatchObject([
    { action: "end_sessions", actor: "operator", app: app.slug, details: { sessions: 0 } },
    { action: "end_sessions", actor: "operator", app: app.slug, details: { sessions: 2 } },
  ]);
});

test("people are listed, displayed with roles and sessions, listed by app, and deleted", async () => {
  const { service, run } = admin;
  const app = await service.makeApp();
  const boss = await makePerson(service, { consoleRole: "super_admin" });
  const person = await makePerson(service, { name: "Bo \u001b[31m", app, role: "editor" });
  const jar = await signInAs(service, person);
  const date = expect.stringMatching(/^\d{4}-.*Z$/);
  const listed = {
    ...{ ...person, displayName: "Bo \u001b[31m", consoleRole: null, invitationState: null },
    ...{ createdAt: date, lastSignInAt: date, disabledAt: null },
    ...{ hasPassword: true, hasProvider: false },
  };
  const listedNow = { ...listed, apps: 1, lastSeenAt: date };
  const all = (await json("list-users"))["users"] as { email: string }[];
  expect(all).toContainEqual(listedNow);
  const before = all[all.findIndex(({ email }) => email === person.email) - 1]?.email;
  const page = ["list-users", "--limit", "1", ...(before === undefined ? [] : ["--after", before])];
  expect((await json(...page))["users"]).toEqual([listedNow]);
  expect((await run("list-users")).out).not.toContain("\u001b");
  const { out: csv } = await run(...page, "--csv");
  expect(csv.split("\r\n")).toEqual([
    "\uFEFFemail,id,display_name,has_password,has_provider,invitation_state,console_role,created_at,last_sign_in_at,disabled_at,apps,last_seen_at",
    expect.stringMatching(
      new RegExp(`^${person.email},${person.id},Bo .\\[31m,true,false,,,\\S+Z,\\S+Z,,1,\\S+Z$`),
    ),
    "",
  ]);
  expect((await run("list-users", "--csv", "--json")).err).toContain("only one of");

  const shown = await json("show-user", person.email);
  expect(shown).toMatchObject({
    ...listed,
    grants: [{ app: app.slug, role: "editor" }],
    sessions: [{ lastSeenAt: date }],
    failedSignIns: null,
  });
  await submitSignIn(service, new Map(), { email: person.email, password: "not the password" });
  expect(await json("show-user", person.email)).toMatchObject({
    failedSignIns: { attempts: 1, lastAt: date, lastFrom: expect.any(String) },
  });
  expect((await run("show-user", person.email)).out).toMatch(
    /^wrong passwords {2}1 since the last correct one {2}last \d{4}-.*Z {2}from \S+$/m,
  );
  expect(JSON.stringify(shown)).not.toMatch(/digest|hash"|secret/i);
  const opens = await json("list-grants", app.slug);
  const { id, email } = person;
  expect(opens["grants"]).toMatchObject([{ id, email, role: "editor", disabledAt: null }]);
  const chief = { ...boss, consoleRole: "super_admin", disabledAt: null };
  expect(opens["administrators"]).toContainEqual(chief);

  const unasked = await run("delete-user", person.email);
  expect([unasked.code, unasked.err]).toEqual([
    1,
    expect.stringMatching(/with its password, 1 role and 1 session\..*the audit log.* add --yes/),
  ]);
  expect(await json("delete-user", person.email, "--yes")).toEqual({ ...person, deleted: true });
  expect((await readMe(service, jar)).status).toBe(401);
  expect((await submitSignIn(service, new Map(), person)).status).toBe(422);
  expect((await run("show-user", person.email)).err).toContain("No user has the address");
  expect((await json("list-grants", app.slug))["grants"]).toEqual([]);
  const { entries } = await json("audit", "--limit", "500");
  const said = (entries as { userId: string }[]).filter(({ userId }) => userId === id);
  const deleted = { action: "delete_user", actor: "operator", email: null, details: {} };
  expect(said[0]).toMatchObject(deleted);
  expect(JSON.stringify(said)).not.toContain(person.email);
});

test("create-user prints the link as text too, and a new link replaces the first link", async () => {
  const made = await admin.run("create-user", "bo@example.org", "--role", "super_admin");
  expect(made).toMatchObject({ code: 0, err: "" });
  expect(made.out).toContain("https://id.example.org/set-password?token=");
  const first = /\/set-password\?token=\w+/.exec(made.out)?.[0] ?? "";
  const { passwordLink } = await json("password-link", "bo@example.org");
  expect((await visit(admin.service, new Map(), first)).status).toBe(404);
  const second = String(passwordLink).replace("https://id.example.org", "");
  expect((await visit(admin.service, new Map(), second)).status).toBe(200);
});

/** The part of an export for each table with people's ids. A new table needs a row here and in the export. */
const EXPORTED: Readonly<Record<string, string>> = {
  grants: "grants",
  invitations: "invitations",
  failed_sign_ins: "failedSignIns",
  mails: "mails",
  sessions: "sessions",
  password_links: "passwordLinks",
  provider_links: "providerLinks",
  totp_factors: "totpFactors",
  recovery_codes: "recoveryCodes",
  passkeys: "passkeys",
  pending_sign_ins: "pendingSignIns",
  person_keys: "personKeys",
  audit: "audit",
};

test("export-user prints all data of a person, without proofs", async () => {
  const { service } = admin;
  const app = await service.makeApp();
  const person = await makePerson(service, { name: "Cy", app, role: "editor" });
  await signInAs(service, person);
  await json("password-link", person.email);
  for (const text of [
    "invitations (user_id, invited_by) values ($1::text::uuid, 'operator')",
    "mails (template, user_id) values ('invitation', $1::text::uuid)",
    "provider_links (issuer, subject, user_id, digest, secret_id) values ('https://issuer.example.org', 'cy', $1::text::uuid, sha256('x'), 'x')",
    "failed_sign_ins (user_id, attempts, last_at) values ($1::text::uuid, 1, now())",
    "totp_factors (user_id, sealed_secret, digest, secret_id, last_step) values ($1::text::uuid, sha256('x'), sha256('x'), 'x', 0)",
    "recovery_codes (user_id, digest, secret_id) values ($1::text::uuid, sha256('x'), 'x')",
    "passkeys (credential_id, user_id, public_key, label, digest, secret_id) values ('x', $1::text::uuid, 'x', 'key', sha256('x'), 'x')",
    "pending_sign_ins (id, digest, secret_id, user_id, proven_at, expires_at) values ('aaaaaaaaaaaaaaaa', sha256('x'), 'x', $1::text::uuid, now(), now() + interval '1 hour')",
  ])
    await service.query(`insert into rowhouse.${text}`, [person.id]);
  for (const text of [
    "person_keys (key_id, app_id, session_id, person_id, scopes, digest, expires_at) select 'aaaaaaaaaaaaaaaa', $2::text::uuid, id, user_id, '{}', sha256('x'), now() from rowhouse.sessions where user_id = $1::text::uuid",
    "session_apps select id, $2::text::uuid, now() from rowhouse.sessions where user_id = $1::text::uuid",
  ])
    await service.query(`insert into rowhouse.${text}`, [person.id, app.id]);
  const stored = await json("export-user", person.email);
  expect(stored).toMatchObject({
    user: { id: person.id, email: person.email, display_name: "Cy", has_password: true },
    grants: [{ app: app.slug, role: "editor" }],
    sessions: [{ device: "Unknown browser", address: "127.0.0.1" }],
    passwordLinks: [{ expires_at: expect.any(String) }],
    personKeys: [{ key_id: "aaaaaaaaaaaaaaaa", app: app.slug }],
    openedApps: [{ app: app.slug }],
  });
  expect(Object.keys(stored["user"] as object)).not.toContain("password_hash");
  expect(JSON.stringify(stored)).not.toMatch(/digest|secret|argon2/i);
  const tables = await service.query<{ name: string }>(
    `select table_name as name from information_schema.columns
    where table_schema = 'rowhouse' and column_name in ('user_id', 'person_id')
      -- The proof of a key is exported with the key.
      and table_name <> 'proofs' order by 1`,
  );
  expect(tables.map(({ name }) => name)).toEqual(Object.keys(EXPORTED).sort());
  for (const key of Object.values(EXPORTED)) expect(stored[key]).not.toEqual([]);
  const lines = (await admin.run("export-user", person.email)).out;
  expect(JSON.parse(lines)).toEqual(stored);
});

test("confirm-addresses lists addresses that this service did not set, and confirms one or all of them", async () => {
  const people = [await makePerson(admin.service), await makePerson(admin.service)];
  const emails = people.map(({ email }) => email).sort();
  for (const { email } of people)
    await admin.service.query(
      "update rowhouse.users set email_digest = sha256('x') where email = $1",
      [email],
    );
  await admin.service.service.admin.message(
    "insert into rowhouse.mail_sender (seen_at) values (clock_timestamp()); select 1",
  );
  const unmailed = await admin.run("password-link", emails[0] ?? "");
  expect(unmailed.out).toContain("not confirmed");
  await admin.service.service.admin.message("delete from rowhouse.mail_sender; select 1");
  const asked = await admin.run("confirm-addresses");
  expect([asked.code, emails.every((email) => asked.err.includes(email))]).toEqual([1, true]);
  const [first = ""] = emails;
  const one = await json("confirm-addresses", "--only", first);
  expect(one).toEqual({ renewed: 0, confirmed: [first] });
  expect((await admin.run("confirm-addresses", "--only", first)).err).toContain(
    "is already confirmed",
  );
  expect((await json("confirm-addresses", "--yes"))["confirmed"]).toEqual(emails.slice(1));
  expect(await json("confirm-addresses")).toEqual({ renewed: 0, confirmed: [] });
  const { entries } = await json("audit", "--limit", "2");
  expect(entries).toMatchObject([{ action: "confirm_address" }, { action: "confirm_address" }]);
});

test("a role that no one has on the app is granted only on request, which names the nearest role", async () => {
  const { slug } = await admin.service.makeApp();
  const [ada, bo] = [`ada-${slug}@example.org`, `bo-${slug}@example.org`];
  await json("create-user", ada);
  await json("create-user", bo);
  expect(await admin.run("grant", ada, slug, "editor")).toMatchObject({ code: 0, err: "" });
  for (const words of [
    ["grant", bo, slug, "editr"],
    ["invite", `cy-${slug}@example.org`, slug, "editr"],
  ]) {
    const rejected = await admin.run(...words);
    expect(rejected).toMatchObject({
      code: 1,
      err: `No one has the role "editr" on ${slug}: its roles are editor; did you mean editor? Cannot ask for confirmation without a terminal: add --new-role\n`,
    });
  }
  expect((await json("list-grants", slug))["grants"]).toMatchObject([{ email: ada }]);
  expect(await json("grant", bo, slug, "viewer", "--new-role")).toMatchObject({ role: "viewer" });
  expect(await json("grant", ada, slug, "viewer")).toMatchObject({ role: "viewer" });
  // Console administrators have it on every app.
  expect(await json("grant", bo, slug, "admin")).toMatchObject({ role: "admin" });
});
