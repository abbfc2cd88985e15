/** People in the Console over HTTP: who can create, change and delete whom, and the effects. */
import { beforeEach, describe, expect, test } from "bun:test";
import { readList } from "../../src/records/actions/mod.ts";
import {
  appPeopleList,
  grantAppRoles,
  grantRole,
  peopleList,
  revokeRole,
  sessionList,
  showUser,
} from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone } from "../support/held_lock.ts";
import { listAudit } from "../support/lists.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  choosePassword,
  type Jar,
  makePerson,
  type Person,
  readHidden,
  readMe,
  signInAs,
  submitForm,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { invite } from "../support/provider_people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

let person: Person;
const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const chief = await makePerson(service, { name: "Ada", consoleRole: "super_admin" });
const admin = await makePerson(service, { name: "Grace", consoleRole: "admin" });
const app = await service.makeApp();
const [chiefJar, adminJar] = [await signInAs(service, chief), await signInAs(service, admin)];
beforeEach(async () => {
  person = await makePerson(service, { name: "Mary" });
});

const NEW = "seven green bottles on a wall";
service.secrets.add(NEW);
const newEmail = () => `new-${crypto.randomUUID().slice(-12)}@example.org`;
const pathOf = ({ id }: Person) => `/console/people/${id}`;
const shownBy = async (of: Person) => await showUser(service.service, of.email);
const rolesOf = async (of: Person) =>
  (await shownBy(of)).grants.map(({ app: slug, role }) => ({ slug, role }));
const write = (text: string) => service.service.admin.message(`${text}; select 1`);

const submit = (jar: Jar, path: string, typed?: Record<string, string>) =>
  submitForm(service, jar, { path, typed });

/** The link on a page. The log must not contain it. */
function readLink({ text }: TestResponse): string {
  const link = /<code id="link"[^>]*>([^<]+)<\/code>/.exec(text)?.[1] ?? "";
  service.secrets.add(link.split("token=")[1] ?? "");
  return link === "" ? "" : new URL(link).pathname + new URL(link).search;
}

const me = (jar: Jar) => readMe(service, jar, app.slug);

test("an invited person gets a role, sets the password by the link, and loses the role after its revocation", async () => {
  const email = newEmail();
  const made = await submit(adminJar, `/console/new-person?app=${app.slug}`, {
    email: ` ${email.toUpperCase()} `,
    name: "Tim",
    app: app.slug,
    role: "editor",
  });
  const link = readLink(made);
  expectPage(made, 200, 'data-copy="link"');
  expect((await choosePassword(service, link, NEW)).status).toBe(303);
  const { id } = await showUser(service.service, email);
  const jar: Jar = new Map();
  await submitSignIn(service, jar, { email, password: NEW });
  expect((await me(jar)).json).toMatchObject({ email, displayName: "Tim", role: "editor" });
  const role = `/console/apps/${app.slug}/people/${id}`;
  const asked = await submit(adminJar, role, { role: "editr" });
  expectPage(asked, 422, "its roles are editor; did you mean editor?", 'name="new_role editr"');
  expect((await me(jar)).json).toMatchObject({ role: "editor" });
  // The confirmation of another role does not count.
  expect((await submit(adminJar, role, { role: "reader", "new_role editr": "on" })).status).toBe(
    422,
  );
  expect((await submit(adminJar, role, { role: "reader", "new_role reader": "on" })).status).toBe(
    303,
  );
  expect((await me(jar)).json).toMatchObject({ role: "reader" });
  expect((await submit(adminJar, `${role}/revoke`)).status).toBe(303);
  expect((await me(jar)).status).toBe(403);
  const entries = (await listAudit(service.service, 100)).filter(({ userId }) => userId === id);
  expect(entries.filter(({ actor }) => actor === admin.id).map(({ action }) => action)).toEqual([
    "revoke",
    "grant",
    "grant",
    "create_user",
  ]);
});

test.each([
  { invited: "", given: "Bo", asks: true, name: "Bo" },
  { invited: "", given: "", asks: true, name: null },
  { invited: "Tim", given: "Mallory", asks: false, name: "Tim" },
])("an invitation with the name '$invited' leaves the name $name", async (row) => {
  const email = newEmail();
  const typed = { email, name: row.invited, app: app.slug, role: "editor" };
  const link = readLink(await submit(adminJar, `/console/new-person?app=${app.slug}`, typed));
  const jar: Jar = new Map();
  const { text } = await visit(service, jar, link);
  expect(text.includes('name="name"')).toBe(row.asks);
  const fields = { ...readHidden(text), password: NEW, name: row.given };
  expect((await visit(service, jar, link, { fields })).status).toBe(303);
  expect((await showUser(service.service, email)).displayName).toBe(row.name);
});

test("a role that was revoked since its form was opened is not granted again, and the typed role stays", async () => {
  const path = `/console/apps/${app.slug}/people/${person.id}`;
  await grantRole(service.service, { email: person.email, slug: app.slug, role: "editor" });
  const { text } = await visit(service, adminJar, path);
  await revokeRole(service.service, { email: person.email, slug: app.slug });
  const fields = { ...readHidden(text), role: "reviewer" };
  const sent = await visit(service, adminJar, path, { fields });
  expect([sent.status, await rolesOf(person)]).toEqual([422, []]);
  expect(sent.text).toContain("was revoked after this form was opened");
  expect(sent.text).toMatch(/name="role"[^>]* value="reviewer"/);
  const shown = await visit(service, adminJar, path);
  expect(shown.text).toContain("has no role on this app");
  expect(shown.text).not.toContain('name="role"');
});

describe("a new person's form", () => {
  test("creates one person when it is sent twice, and the page reports it", async () => {
    const path = "/console/new-person";
    const page = await visit(service, adminJar, path);
    const fields = { ...readHidden(page.text), email: newEmail(), name: "" };
    expect(readLink(await visit(service, adminJar, path, { fields }))).not.toBe("");
    const again = await visit(service, adminJar, path, { fields });
    expect([again.status, readLink(again)]).toEqual([422, ""]);
    expect(again.text).toContain("This form was already sent");
  });

  test.each(cases("name", "email", "person", "app", "role", "issues", "unsaid")`
    every issue together              | no address    | a\u202eb | x           | No role | must look like, on one line, Cannot grant the role, No app has the slug
    an app without a role             | x@example.org | a\nb     | no-such-app |         | name both the app and the role, on one line, No app has the slug
    an unknown app                    | x@example.org |          | no-such-app | member  | No app has the slug
    an app with U+0000                | x@example.org |          | a\u0000     | member  | No app has the slug
    U+0000, with other issues         | x             |          | a\u0000     | member  | No app has the slug, must look like
    an address in use                 | IN USE        |          |             |         | the address is already in use
    an address in use, with others    | IN USE        | a\nb     |             |         | the address is already in use, on one line
    other issues of an existing address that would get the role | IN USE | a\nb | ${app.slug} | No role | on one line, Cannot grant the role | already in use
  `)("is rejected for $name, and creates no person", async (row) => {
    const email = row.email === "IN USE" ? person.email.toUpperCase() : row.email;
    const typed = { email, name: row.person, app: row.app, role: row.role };
    const response = await submit(adminJar, "/console/new-person", typed);
    expectPage(response, 422, ...row.issues.split(", "));
    for (const issue of [row.unsaid || "rowhouse admin", "rowhouse admin"])
      expect(response.text).not.toContain(issue);
    expectPage(
      await visit(service, adminJar, "/console/people?q=x@example.org"),
      200,
      "No matching people",
    );
  });
});

test("an invitation with a Console role lists an address in use and an unknown app together", async () => {
  const typed = { email: person.email, console_role: "admin", app: "no-such-app", role: "member" };
  const response = await submit(chiefJar, "/console/new-person", typed);
  expect(response.status).toBe(422);
  for (const issue of ["the address is already in use", "No app has the slug"])
    expect(response.text).toContain(issue);
});

const send = async (jar: Jar, of: Person, act: string, typed: Record<string, string>) => {
  // The token of any form of this browser: the page itself may have no form.
  const { text } = await visit(service, jar, "/console/new-person");
  const fields = { ...readHidden(text), typed_name: of.email, ...typed };
  return await visit(service, jar, `${pathOf(of)}/${act}`, { fields });
};

describe("an admin who is not a super_admin", () => {
  test("cannot grant a Console role to a new person, another person or the admin", async () => {
    const email = newEmail();
    const typed = { email, console_role: "super_admin" };
    expect((await submit(adminJar, "/console/new-person", typed)).status).toBe(403);
    await expect(showUser(service.service, email)).rejects.toThrow("No user has the address");
    for (const one of [person, admin]) {
      const sent = await send(adminJar, one, "console-role", { console_role: "super_admin" });
      expect(sent.status).toBe(403);
    }
    const roles = [await shownBy(person), await shownBy(admin)].map((one) => one.consoleRole);
    expect(roles).toEqual([null, "admin"]);
  });

  test("gets no role through an earlier link", async () => {
    const other = await invite(service);
    const link = readLink(await submit(adminJar, `${pathOf(other)}/password-link`));
    await submit(chiefJar, `${pathOf(other)}/console-role`, { console_role: "super_admin" });
    expect((await shownBy(other)).consoleRole).toBe("super_admin");
    expect((await visit(service, new Map(), link)).text).not.toContain('name="password"');
    await submit(chiefJar, `${pathOf(other)}/console-role`, { console_role: "none" });
    expect((await shownBy(other)).consoleRole).toBe(null);
  });
});

test("the last super_admin cannot be removed, and the page states the reason", async () => {
  expect((await visit(service, chiefJar, pathOf(chief))).text).toContain("is the last super_admin");
  for (const { act, typed } of [
    { act: "state", typed: { wanted: "disable" } },
    { act: "delete", typed: {} },
    { act: "end-access", typed: {} },
    { act: "console-role", typed: { console_role: "admin" } },
  ]) {
    const sent = await send(chiefJar, chief, act, typed);
    expect([act, sent.status]).toEqual([act, 422]);
    expect(sent.text).toContain("the last super_admin");
  }
  expect(await shownBy(chief)).toMatchObject({ consoleRole: "super_admin", disabledAt: null });
});

describe("an account", () => {
  test.each(["state", "delete"])("%s leads to the keys that the person issued", async (ending) => {
    const own = await makePerson(service, { consoleRole: "admin" });
    const jar = await signInAs(service, own);
    const typed = { name: "theirs", "scope data:read": "on", life: "90" };
    expect((await submit(jar, `/console/apps/${app.slug}/new-key`, typed)).status).toBe(200);
    const { text } = await visit(service, chiefJar, `${pathOf(own)}/${ending}`);
    const path = /href="([^"]*)">those that this person issued/.exec(text)?.[1] ?? "";
    expect((await visit(service, chiefJar, path)).text).toContain("<bdi>theirs</bdi>");
  });

  test("of a departed person ends in one step, with the chosen keys, and only once", async () => {
    const own = await makePerson(service, { consoleRole: "admin" });
    const jar = await signInAs(service, own);
    const others = [app, await service.makeApp()];
    for (const { slug } of others)
      await grantRole(service.service, { email: own.email, slug, role: "reader" });
    const typed = { "scope data:read": "on", life: "90" };
    for (const name of ["unused", "used", "kept"])
      await submit(jar, `/console/apps/${app.slug}/new-key`, { ...typed, name });
    const foreign = { ...typed, name: "of another" };
    await submit(chiefJar, `/console/apps/${app.slug}/new-key`, foreign);
    await write("update rowhouse.api_keys set last_used_at = now() where name in ('used', 'kept')");
    // The retention of the audit log has passed for these keys.
    await write(`select pg_catalog.set_config('rowhouse.sweeps_audit', 'on', true);
      delete from rowhouse.audit where actor = '${own.id}'`);
    const path = `${pathOf(own)}/end-access`;
    const { text } = await visit(service, chiefJar, path);
    expect(text).not.toContain("of another");
    // Only a key that no program uses is chosen in advance.
    const boxes = [...text.matchAll(/name="(key [^"]+)"( checked)?.*?<bdi>(\w+)</g)];
    expect(boxes.map(([, , checked, name]) => [name, checked !== undefined]).sort()).toEqual([
      ["kept", false],
      ["unused", true],
      ["used", false],
    ]);
    const named = new Map(boxes.map(([, box = "", , name]) => [name, box]));
    const { 0: other } = (await listAudit(service.service, 20)).filter(({ details }) =>
      JSON.stringify(details).includes("of another"),
    );
    const foreignId = (other?.details as { keyId?: string } | undefined)?.keyId ?? "";
    const fields = {
      ...readHidden(text),
      [named.get("unused") ?? ""]: "on",
      [named.get("used") ?? ""]: "on",
      [`key ${foreignId}`]: "on",
    };
    const before = (await listAudit(service.service, 1))[0]?.id ?? 0;
    const send = async () => (await visit(service, chiefJar, path, { fields })).status;
    expect([await send(), await send()]).toEqual([303, 303]);
    expect((await me(jar)).status).toBe(401);
    expect(await shownBy(own)).toMatchObject({ consoleRole: null, grants: [] });
    expect((await shownBy(own)).disabledAt).not.toBe(null);
    const ended = (await visit(service, chiefJar, pathOf(own))).text;
    expect(ended).toContain("This account cannot sign in. It has no roles.");
    const entries = (await listAudit(service.service, 50)).filter(({ id }) => id > before);
    expect(entries.map(({ action, actor }) => `${action} ${actor === chief.id}`).sort()).toEqual([
      ...["disable true", "revoke true", "revoke true", "revoke_key true", "revoke_key true"],
      ...["set_console_role true"],
    ]);
    const left = (await visit(service, chiefJar, path)).text;
    expect([left.includes("kept"), left.includes("unused")]).toEqual([true, false]);
  });

  test("ends with the links of a person who was already disabled", async () => {
    const own = await makePerson(service, {});
    await submit(chiefJar, `${pathOf(own)}/state`, { wanted: "disable" });
    const link = readLink(await submit(chiefJar, `${pathOf(own)}/password-link`));
    expect((await submit(chiefJar, `${pathOf(own)}/end-access`)).status).toBe(303);
    await submit(chiefJar, `${pathOf(own)}/state`, { wanted: "enable" });
    expect((await visit(service, new Map(), link)).status).toBe(404);
  });

  test("can end one session on the person's own page, which shows its device and address", async () => {
    const jars = [await signInAs(service, person), await signInAs(service, person)];
    const statuses = async () => await Promise.all(jars.map(async (jar) => (await me(jar)).status));
    const { sessions } = await readList(service.service, sessionList, { of: person.email });
    const first = sessions.at(-1);
    await write(
      `update rowhouse.sessions set device = 'Firefox on Linux', address = '192.0.2.7' where id = '${first?.id}'`,
    );
    const page = await visit(service, adminJar, pathOf(person));
    expect(page.text).toMatch(/Firefox on Linux.*from <bdi>192\.0\.2\.7<\/bdi>/);
    const other = await makePerson(service);
    await submit(adminJar, `${pathOf(other)}/sessions/${first?.id}`);
    expect(await statuses()).toEqual([403, 403]);
    const ended = await submit(adminJar, `${pathOf(person)}/sessions/${first?.id}`);
    expect([ended.status, ...(await statuses())]).toEqual([303, 401, 403]);
  });

  test("is signed out with all people of an app, and only by a super_admin if the app has people with a Console role", async () => {
    const own = await service.makeApp();
    const member = await makePerson(service, { app: own });
    const jar = await signInAs(service, member);
    const path = `/console/apps/${own.slug}/end-sessions`;
    const grant = { email: admin.email, slug: own.slug, role: "reader" };
    await grantRole(service.service, grant);
    expectPage(await submit(adminJar, path), 403, "a super_admin");
    expect((await me(jar)).status).not.toBe(401);
    await revokeRole(service.service, grant);
    expect((await submit(adminJar, path)).status).toBe(303);
    expect((await me(jar)).status).toBe(401);
    const [entry] = await listAudit(service.service, 1);
    expect(entry).toMatchObject({ actor: admin.id, action: "end_sessions", app: own.slug });
  });

  test("gets another address for its sign-ins, keeps its sessions, and loses an unused link", async () => {
    const jar = await signInAs(service, person);
    const path = `${pathOf(person)}/address`;
    const link = readLink(await submit(adminJar, `${pathOf(person)}/password-link`));
    for (const [new_email, issue] of [
      ["no address", "must look like ada@example.org"],
      [admin.email, "is already in use"],
    ] as const) {
      expectPage(await submit(adminJar, path, { new_email }), 422, issue);
    }
    const email = newEmail();
    const changed = await submit(adminJar, path, { new_email: ` ${email.toUpperCase()}` });
    expect([changed.status, (await me(jar)).status]).toEqual([303, 403]);
    expect((await visit(service, new Map(), link)).status).toBe(404);
    expect((await submitSignIn(service, new Map(), person)).status).toBe(422);
    expect((await submitSignIn(service, new Map(), { email })).status).toBe(303);
    const entries = await listAudit(service.service, 20);
    const entry = entries.find(({ action }) => action === "change_email");
    expect(entry).toMatchObject({ actor: admin.id, userId: person.id, details: {} });
  });

  test("is deleted after the address is typed, and the audit log retains only the id", async () => {
    const typed_name = `other-${person.email}`;
    const rejected = await submit(chiefJar, `${pathOf(person)}/delete`, { typed_name });
    expectPage(rejected, 422, 'id="typed_name-issue"');
    expect(rejected.text).not.toContain(typed_name);
    expect((await shownBy(person)).email).toBe(person.email);
    const gone = await submit(adminJar, `${pathOf(person)}/delete`, {
      typed_name: person.email.toUpperCase(),
    });
    expectRedirect(gone, "/console/people?done=deleted");
    expect((await visit(service, adminJar, pathOf(person))).status).toBe(404);
    const entries = (await listAudit(service.service, 500)).filter(
      ({ userId }) => userId === person.id,
    );
    expect(entries[0]).toMatchObject({ actor: admin.id, action: "delete_user", email: null });
    expect(JSON.stringify(entries)).not.toContain(person.email);
  });

  test("that is being deleted gets no role", async () => {
    const path = `${pathOf(person)}/new-role`;
    const { text: form } = await visit(service, adminJar, path);
    const fields = { ...readHidden(form), app: app.slug, role: "admin" };
    const text = "delete from rowhouse.users where id = $1";
    const deletion = { text, values: [person.id] };
    const { given } = await whileDone(service.database.adminUrl, deletion, async (session) => {
      const sent = visit(service, adminJar, path, { fields });
      const waits = "select from pg_locks where not granted and pid <> pg_backend_pid()";
      await eventually(async () => (await session.unsafe(waits)).length > 0, {
        describe: () => "the role waits for the deletion",
      });
      return { given: sent };
    });
    expectPage(await given, 422, "Nothing was changed");
  });

  test("gets a role on several apps at once, or an error for each app and on none", async () => {
    const apps = [await service.makeApp(), await service.makeApp(), await service.makeApp()];
    const [first = "", second = "", third = ""] = apps.map(({ slug }) => slug);
    await grantRole(service.service, { email: admin.email, slug: first, role: "editor" });
    const path = `${pathOf(person)}/new-role`;
    const near = `${second}x`;
    const typed = { app: `${first}, ${near}`, [`on ${third}`]: "on", role: "edtior" };
    const rejected = await submit(adminJar, path, typed);
    expect(await rolesOf(person)).toEqual([]);
    expectPage(rejected, 422, "did you mean editor?", `did you mean ${second}?`, 'value="edtior"');
    expectPage(await submit(adminJar, path, { app: "", role: "editor" }), 422, "Name an app");
    const both = { ...typed, app: `${first} ${second}`, role: "editor" };
    expect((await submit(adminJar, path, both)).status).toBe(303);
    const roles = await rolesOf(person);
    for (const slug of [first, second, third])
      expect(roles).toContainEqual({ slug, role: "editor" });
    const entries = (await listAudit(service.service, 3)).map(({ action, actor }) => ({
      action,
      actor,
    }));
    expect(entries).toEqual(apps.map(() => ({ action: "grant", actor: admin.id })));
  });

  test("gets no role if one of several apps was deleted after the check", async () => {
    const [{ slug }, before] = [await service.makeApp(), await rolesOf(person)];
    const granted = grantAppRoles(service.service, {
      email: person.email,
      slugs: [slug, "deleted-meanwhile"],
      role: "editor",
    });
    await expect(granted).rejects.toThrow("Nothing was granted");
    expect(await rolesOf(person)).toEqual(before);
  });

  test("gets roles on several apps from the person's page, and a role from an app's page by address", async () => {
    const other = await service.makeApp();
    const third = await service.makeApp();
    const given = {
      ...{ app: other.slug, role: "reader" },
      ...{ [`on ${third.slug}`]: "on", [`role on ${third.slug}`]: "admin" },
    };
    expect((await submit(adminJar, `${pathOf(person)}/new-role`, given)).status).toBe(303);
    const add = `/console/apps/${app.slug}/add-person`;
    const typed = { email: person.email, role: "editor", "new_role editor": "on" };
    expect((await submit(adminJar, add, typed)).status).toBe(303);
    const roles = await rolesOf(person);
    expect(roles).toContainEqual({ slug: app.slug, role: "editor" });
    expect(roles).toContainEqual({ slug: other.slug, role: "reader" });
    expect(roles).toContainEqual({ slug: third.slug, role: "admin" });
    const unknown = await submit(adminJar, add, { email: "nobody@example.org", role: "editor" });
    expectPage(
      unknown,
      422,
      "No user has the address",
      `/console/new-person?app=${app.slug}&amp;email=nobody%40example.org`,
    );
    const page = await visit(service, adminJar, `/console/apps/${other.slug}/people`);
    expect(page.text).toContain(person.email);
    expect(
      (await readList(service.service, appPeopleList, { of: other.slug })).grants,
    ).toHaveLength(1);
  });
});

test("a person who signed out has signed in", async () => {
  const seen = async () => {
    const { users } = await readList(service.service, peopleList, { after: "" });
    const { text } = await visit(service, chiefJar, `/console/people?q=${person.email}`);
    return {
      list: users.find(({ email }) => email === person.email)?.lastSeenAt !== null,
      person: (await shownBy(person)).lastSignInAt !== null,
      page: !text.includes("Never signed in"),
    };
  };
  expect(await seen()).toEqual({ list: false, person: false, page: false });
  await signInAs(service, person);
  await submit(chiefJar, `${pathOf(person)}/end-sessions`);
  expect((await shownBy(person)).sessions).toEqual([]);
  expect(await seen()).toEqual({ list: true, person: true, page: true });
  expect((await visit(service, chiefJar, pathOf(person))).text).toContain("Last sign-in");
});

test("a person with a provider needs no password", async () => {
  const { email, id } = await invite(service);
  const list = async () => (await visit(service, adminJar, `/console/people?q=${email}`)).text;
  expect(await list()).toContain('pill-plain">invited<');
  await write(
    `insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id) values ('https://p.example', '${id}', '${id}', sha256('x'), 'x');
    delete from rowhouse.invitations where user_id = '${id}'`,
  );
  expect(await list()).toContain("active</span>");
  expect((await visit(service, adminJar, `/console/people/${id}`)).text).toContain(
    "signs in with a provider",
  );
  // Anyone who linked a provider or added a passkey would also get the role, even after a password change.
  await write(
    `insert into rowhouse.passkeys (credential_id, user_id, public_key, label, digest, secret_id)
    values (sha256('${id}'), '${id}', 'x', 'x', sha256('x'), 'x')`,
  );
  const giving = await visit(service, chiefJar, `/console/people/${id}/console-role`);
  for (const action of ["link_provider", "add_passkey"])
    expect(giving.text).toContain(`/console/activity?action=${action}&amp;person=${id}`);
});

test("people are found by address and by name, and paged", async () => {
  const tag = crypto.randomUUID().slice(-8);
  await write(
    `insert into rowhouse.users (id, email, display_name) select gen_random_uuid(), 'p' || lpad(n::text, 3, '0') || '-${tag}@example.org', 'Name ' || n from generate_series(1, 60) as n;
    insert into rowhouse.grants (user_id, app_id, role) select id, '${app.id}', 'member' from rowhouse.users where email like '%${tag}%'`,
  );
  for (const path of ["/console/people", `/console/apps/${app.slug}/people`]) {
    const found = async (query: string) => {
      const { text } = await visit(service, adminJar, `${path}?${query}`);
      const next = /href="([^"]+)">Next page/.exec(text)?.[1]?.replaceAll("&amp;", "&");
      return { shown: text.match(/<tr><td/g)?.length ?? 0, next: next?.split("?")[1], text };
    };
    const first = await found(`q=${tag.toUpperCase()}`);
    expect(first.shown).toBe(50);
    expect(first.text).toContain("no password yet");
    const rest = await found(first.next ?? "");
    expect([rest.shown, rest.next]).toEqual([10, undefined]);
    expect((await found("q=nAmE+60")).shown).toBe(1);
    expect((await found("q=%25")).shown).toBe(0);
  }
});

test("input of people is escaped, keeps its direction, and does not stretch the page", async () => {
  const name = `<script>alert(1)</script>"'&\u202e${"x".repeat(150)}`;
  const { id } = await invite(service);
  await service.query("update rowhouse.users set display_name = $1 where id = $2", [name, id]);
  const at = `/console/people/${id}`;
  for (const path of ["/console/people?q=script", at, `${at}/password-link`, `${at}/delete`]) {
    const { text, status } = await visit(service, adminJar, path);
    expect(status).toBe(200);
    expect(text).not.toMatch(/<script>|x{121}/);
  }
});

test.each(["x", "00000000-0000-4000-8000-000000000000", "%00", "..%2f"])(
  "/console/people/%s returns 404",
  async (id) => {
    expect((await visit(service, adminJar, `/console/people/${id}`)).status).toBe(404);
  },
);

test.each([
  { name: "no choice", sent: {} },
  { name: "an empty choice", sent: { console_role: "" } },
  { name: "another choice", sent: { console_role: "owner" } },
])(
  "the form of the Console role with $name changes nothing, and shows why at the field",
  async ({ sent }) => {
    const holder = await makePerson(service, { consoleRole: "admin" });
    const rejected = await submit(chiefJar, `${pathOf(holder)}/console-role`, sent);
    expectPage(rejected, 422, 'name="console_role" aria-invalid="true"');
    expect((await shownBy(holder)).consoleRole).toBe("admin");
  },
);
