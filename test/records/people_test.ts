import { describe, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { readList } from "../../src/records/actions/mod.ts";
import {
  createUser,
  giveConsoleRole,
  grantRole,
  readEmail,
  removeConsoleRole,
  revokeRole,
  runOnPerson,
  sessionList,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { testDeps } from "../support/deps.ts";
import { listAudit } from "../support/lists.ts";
import { makePerson, readMe, signInAs } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const app = await service.makeApp();

const deps = () => testDeps(service.service);
const make = (email: string) =>
  createUser(deps(), { email, displayName: undefined, consoleRole: undefined });

describe("readEmail() of", () => {
  test.each([
    { text: " Ada@Example.ORG ", want: "ada@example.org" },
    { text: "a.b+c@x-y.example.org", want: "a.b+c@x-y.example.org" },
    { text: "ａｄａ@example.org", want: "ada@example.org" },
  ])("$text is $want", ({ text, want }) => expect(readEmail(text)).toBe(want));

  test.each([
    "",
    "ada",
    "ada@",
    "@example.org",
    "ada@example",
    "a b@example.org",
    "ada@-x.org",
    "а@example.org",
    "ada@example.org\n.evil.example",
    `${"a".repeat(250)}@b.org`,
    ".a@example.org",
    "a..b@example.org",
  ])("%j is rejected", (text) => expect(() => readEmail(text)).toThrow("Cannot use the address"));
});

describe("people", () => {
  test("have one account per address, in any notation", async () => {
    await make("once@example.org");
    await expect(make(" ONCE@example.org")).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("have one role per app, and a new role replaces the previous role", async () => {
    const person = await makePerson(service, { app, role: "reader" });
    await grantRole(deps(), { email: person.email, slug: app.slug, role: "editor" });
    const jar = await signInAs(service, person);
    expect((await readMe(service, jar, app.slug)).json).toMatchObject({ role: "editor" });
    expect(await revokeRole(deps(), { email: person.email, slug: app.slug })).toBe(true);
    expect(await revokeRole(deps(), { email: person.email, slug: app.slug })).toBe(false);
  });

  test.each([
    { name: "super_admin on an app", change: { role: "super_admin" } },
    { name: "an uppercase role", change: { role: "Editor" } },
    { name: "a role of 33 characters", change: { role: "a".repeat(33) } },
    { name: "a role for an unknown address", change: { email: "nobody@example.org" } },
    { name: "a role on an unknown app", change: { slug: "no-such-app" }, code: "unknown_app" },
  ])("cannot be granted $name", async ({ change, code = "invalid_request" }) => {
    const person = await makePerson(service);
    const options = { email: person.email, slug: app.slug, role: "editor", ...change };
    await expect(grantRole(deps(), options)).rejects.toMatchObject({ code });
  });

  test("have sessions that an operator can list and end", async () => {
    const person = await makePerson(service);
    const jars = [await signInAs(service, person), await signInAs(service, person)];
    expect((await readList(deps(), sessionList, { of: person.email })).sessions).toHaveLength(2);
    expect(await runOnPerson(deps(), "end_sessions", person.email)).toBe(2);
    expect((await readList(deps(), sessionList, { of: person.email })).sessions).toEqual([]);
    for (const jar of jars) expect((await readMe(service, jar)).status).toBe(401);
    await expect(readList(deps(), sessionList, { of: "nobody@example.org" })).rejects.toThrow(
      "No user has the address",
    );
  });
});

describe("the last super_admin", () => {
  const superAdmins = async () => {
    const [row] = await service.query<{ count: number }>(
      "select count(*)::int4 as count from rowhouse.users where console_role = 'super_admin' and disabled_at is null",
    );
    return row?.count;
  };

  test("cannot be demoted or disabled, even by two simultaneous requests", async () => {
    for (const act of [
      (email: string) => setDisabled(deps(), email, true),
      (email: string) => removeConsoleRole(deps(), email),
      (email: string) => giveConsoleRole(deps(), email, "admin"),
    ]) {
      const people = [
        await makePerson(service, { consoleRole: "super_admin" }),
        await makePerson(service, { consoleRole: "super_admin" }),
      ];
      const results = await Promise.allSettled(people.map(({ email }) => act(email)));
      expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(await superAdmins()).toBe(1);
      const kept = people[results.findIndex(({ status }) => status === "rejected")];
      await expect(act(kept?.email ?? "")).rejects.toMatchObject({ code: "invalid_request" });
      await service.query("update rowhouse.users set console_role = null");
    }
  });

  test("can be demoted if another super_admin exists", async () => {
    const [first, second] = [
      await makePerson(service, { consoleRole: "super_admin" }),
      await makePerson(service),
    ];
    await expect(setDisabled(deps(), first.email, true)).rejects.toThrow("last super_admin");
    await giveConsoleRole(deps(), second.email, "super_admin");
    await setDisabled(deps(), first.email, true);
    // A disabled administrator has no access, and can lose the role.
    await removeConsoleRole(deps(), first.email);
    expect(await superAdmins()).toBe(1);
  });
});

describe("the audit log", () => {
  test("records actor, action and person", async () => {
    const person = await makePerson(service, { app, role: "reader" });
    await revokeRole(deps(), { email: person.email, slug: app.slug });
    await setDisabled(deps(), person.email, true);
    await setDisabled(deps(), person.email, false);
    const mine = (await listAudit(deps(), 500)).filter((entry) => entry.userId === person.id);
    const role = { role: "reader" };
    expect(
      mine
        .toReversed()
        .map(({ actor, action, app: slug, details }) => [actor, action, slug, details]),
    ).toEqual([
      ["operator", "create_user", null, { consoleRole: null }],
      [person.id, "set_password", null, {}],
      ["operator", "grant", app.slug, role],
      ["operator", "revoke", app.slug, role],
      ["operator", "disable", null, {}],
      ["operator", "enable", null, {}],
    ]);
  });

  test.each([
    "update rowhouse.audit set actor = 'x'",
    "delete from rowhouse.audit",
    "truncate rowhouse.audit",
  ])("rejects %s by the serving login and by the table owner", async (text) => {
    await expect(readRows(service.service.db, text)).rejects.toThrow();
    await expect(service.query(text)).rejects.toMatchObject({ signal: "RH012" });
    await expect(
      service.service.admin.message(`set local role rowhouse_owner; ${text}; select 1`),
    ).rejects.toMatchObject({ signal: "RH012" });
  });
});

test.each([
  "select password_hash from rowhouse.users",
  "update rowhouse.users set console_role = 'super_admin'",
  "insert into rowhouse.users (id, email) values (gen_random_uuid(), 'x@example.org')",
  "insert into rowhouse.grants (user_id, app_id, role) select users.id, apps.id, 'admin' from rowhouse.users, rowhouse.apps",
  "insert into rowhouse.sessions (id, session_digest, identity_digest, secret_id, user_id, expires_at) select 'aaaaaaaaaaaaaaaa', '', '', '', id, now() from rowhouse.users",
  "update rowhouse.sessions set expires_at = now() + interval '1 year'",
  "select * from rowhouse.throttle",
  "select * from rowhouse.audit",
  "delete from rowhouse.password_links",
  "select rowhouse.set_console_role('x@example.org', 'super_admin', null, 'x')",
  "select rowhouse.set_disabled('x@example.org', true, 'x')",
])("the serving login cannot run: %s", async (text) => {
  await withDatabase(service.database.servingUrl, async (database) => {
    await expect(readRows(database, text)).rejects.toMatchObject({ code: "42501" });
  });
});
