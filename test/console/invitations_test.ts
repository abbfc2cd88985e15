/** Invitations in the Console over HTTP: their display, and who can resend and withdraw them. */
import { describe, expect, test } from "bun:test";
import { showUser } from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { listAudit } from "../support/lists.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  type Person,
  readHidden,
  signInAs,
  submitForm,
  visit,
} from "../support/people.ts";
import { invite } from "../support/provider_people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp();
const admin = await makePerson(service, { name: "Grace", consoleRole: "admin" });
const chief = await makePerson(service, { name: "Ada", consoleRole: "super_admin" });
const [adminJar, chiefJar] = [await signInAs(service, admin), await signInAs(service, chief)];

const LIST = "/console/invitations";
const pathOf = ({ id }: Person, act: string) => `/console/people/${id}/${act}-invitation`;
const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const submit = (jar: Jar, path: string, typed?: Record<string, string>) =>
  submitForm(service, jar, { path, typed });

/** The row of a list that names an address. */
async function rowOf(email: string, path = LIST): Promise<string> {
  const { text } = await visit(service, adminJar, `${path}?q=${email}`);
  const row = text.split("<tr>").find((one) => one.includes(email) && one.includes("<td"));
  return (row ?? "").replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
}

function readLink({ text }: TestResponse): string {
  const link = /<code id="link"[^>]*>([^<]+)<\/code>/.exec(text)?.[1] ?? "";
  service.secrets.add(link.split("token=")[1] ?? "none");
  return link === "" ? "" : new URL(link).pathname + new URL(link).search;
}

const isOpen = async (link: string) => (await visit(service, new Map(), link)).status === 200;

test("the list shows role, inviter, expiry and a missing email, and another app can be added", async () => {
  const email = `invited-${crypto.randomUUID().slice(-12)}@example.org`;
  const typed = { email, app: app.slug, role: "editor" };
  const link = readLink(await submit(adminJar, "/console/new-person", typed));
  expect(await rowOf(email)).toMatch(
    new RegExp(
      `${app.slug}: editor.*by ${admin.email}.*pending .*link ends in 3 days.*not emailed`,
    ),
  );
  const other = await service.makeApp();
  const again = await submit(adminJar, "/console/new-person", {
    email,
    app: other.slug,
    role: "reader",
  });
  const added = `/console/apps/${other.slug}/people?done=added`;
  expect([again.status, again.headers.get("location"), await isOpen(link)]).toEqual([
    303,
    added,
    true,
  ]);
  expect((await visit(service, adminJar, added)).text).toContain(
    "Role added to the pending invitation.",
  );
  expect(await rowOf(email)).toContain(`${other.slug}: reader`);
  expect(await rowOf(email, `/console/apps/${other.slug}/people`)).toContain("invited");
  await write(
    `update rowhouse.password_links set expires_at = now() - interval '2 days' where user_id = (select id from rowhouse.users where email = '${email}')`,
  );
  expect(await rowOf(email)).toContain("expired link ended 2 days ago");
  expect(await rowOf(email, "/console/people")).toContain("invitation expired");
});

test("a person with an account gets the role from an invitation without a link", async () => {
  const person = await makePerson(service);
  const typed = { email: person.email, app: app.slug, role: "editor" };
  const sent = await submit(adminJar, "/console/new-person", typed);
  const to = `/console/apps/${app.slug}/people?done=granted`;
  expectRedirect(sent, to);
  expect((await showUser(service.service, person.email)).grants).toMatchObject([
    { role: "editor" },
  ]);
  expect(await rowOf(person.email)).toBe("");
});

test("resending ends the old link, and withdrawing ends the new link and removes the person", async () => {
  const person = await invite(service, app.slug);
  const old = `/set-password?token=${person.linkText}`;
  const link = readLink(await submit(adminJar, `${pathOf(person, "resend")}?from=list`));
  expect([await isOpen(old), await isOpen(link)]).toEqual([false, true]);
  const gone = await submit(adminJar, `${pathOf(person, "withdraw")}?from=list`);
  expectRedirect(gone, `${LIST}?done=withdrawn`);
  expect([await isOpen(link), await rowOf(person.email)]).toEqual([false, ""]);
  const mine = (await listAudit(service.service, 100)).filter(({ userId }) => userId === person.id);
  expect(mine.filter(({ actor }) => actor === admin.id).map(({ action }) => action)).toEqual([
    "withdraw_invitation",
    "resend_invitation",
  ]);
});

describe.each(["resend", "withdraw"])("%s", (act) => {
  const send = async (jar: Jar, person: Person) => {
    const { text } = await visit(service, jar, "/console/new-person");
    return await visit(service, jar, pathOf(person, act), { fields: readHidden(text) });
  };

  test("is denied to an admin for a person with a promised Console role, and allowed for a super_admin", async () => {
    const person = await invite(service, undefined, "admin");
    const page = await visit(service, adminJar, pathOf(person, act));
    expect(page.text).toContain("only a super_admin can change the account");
    const sent = await send(adminJar, person);
    const isThere = await isOpen(`/set-password?token=${person.linkText}`);
    expect([sent.status, readLink(sent), isThere]).toEqual([403, "", true]);
    readLink(await submit(chiefJar, pathOf(person, act)));
    expect(await isOpen(`/set-password?token=${person.linkText}`)).toBe(false);
  });

  test("has no effect on an invitation that was accepted in the meantime", async () => {
    const person = await makePerson(service, { app });
    const before = await showUser(service.service, person.email);
    expect((await visit(service, adminJar, pathOf(person, act))).text).toContain("it was accepted");
    const sent = await send(adminJar, person);
    expect([sent.status, readLink(sent)]).toEqual([422, ""]);
    expect(await showUser(service.service, person.email)).toEqual(before);
  });
});

test("the page of an invitation names the apps", async () => {
  const person = await invite(service, app.slug);
  const page = await visit(service, new Map(), `/set-password?token=${person.linkText}`);
  expect(page.text).toContain(`You are invited to <b>${app.slug}</b>`);
});

describe("one form invites several people", () => {
  const newEmail = () => `several-${crypto.randomUUID().slice(-12)}@example.org`;
  const people = async (like: string) => {
    const { text } = await visit(service, adminJar, `/console/people?q=${like}`);
    return text.split("<tr>").filter((row) => row.includes(like) && row.includes("<td")).length;
  };

  test("returns a result for each person, and a link for each person without an account", async () => {
    const known = await makePerson(service);
    const [first, second] = [newEmail(), newEmail()];
    const email = `${first}\r\n${known.email}\r\n\r\n ${second.toUpperCase()}\r\n${first}`;
    const typed = { email, app: app.slug, role: "reader", "new_role reader": "on" };
    const { status, text } = await submit(adminJar, "/console/new-person", typed);
    expect(status).toBe(200);
    const rows = text.split("<tr>").slice(2);
    const results = rows.map((row) =>
      ["Invited: send the link", "Has an account: role granted"].find((one) => row.includes(one)),
    );
    expect(results).toEqual([
      "Invited: send the link",
      "Has an account: role granted",
      "Invited: send the link",
    ]);
    const links = [...text.matchAll(/<code id="link-\d+">([^<]+)</g)].map(([, link = ""]) => link);
    for (const link of links) service.secrets.add(link.split("token=")[1] ?? "none");
    expect(links).toHaveLength(2);
    for (const link of links)
      expect(await isOpen(new URL(link).pathname + new URL(link).search)).toBe(true);
    for (const one of [first, second]) expect(await rowOf(one)).toContain(`${app.slug}: reader`);
  });

  test("an address on two lines is invited once", async () => {
    const email = newEmail();
    const typed = { email: `${email}\n${email.toUpperCase()}`, name: "Bo", app: "", role: "" };
    const response = await submit(adminJar, "/console/new-person", typed);
    expect([response.status, readLink(response) === ""]).toEqual([200, false]);
    expect(await people(email)).toBe(1);
  });

  test("without a role reports the address of an existing account, and invites the other people", async () => {
    const known = await makePerson(service);
    const other = newEmail();
    const { text } = await submit(adminJar, "/console/new-person", {
      email: `${known.email}\n${other}`,
      app: "",
      role: "",
    });
    for (const [, link = ""] of text.matchAll(/<code id="link-\d+">([^<]+)</g))
      service.secrets.add(link.split("token=")[1] ?? "none");
    expect(text).toContain("Not invited: already has an account");
    expect(await people(other)).toBe(1);
  });

  const TOO_MANY = Array.from({ length: 51 }, (_, index) => `n${index}@example.org`);
  test.each(cases("name", "email", "typed", "messages")`
    an invalid address    | not an address               |                           | not an address
    two invalid addresses | one\ntwo                     |                           | one, two
    an invalid name       |                              | {"name":"Bo"}             | A name can be set for only one address
    an unknown app        |                              | {"app":"nope","role":"x"} | nope
    a role without an app |                              | {"role":"reader"}         | name both
    51 addresses          | ${TOO_MANY.join("\n")}       |                           | at most 50
  `)("$name is reported, and no one is invited", async ({ email, typed, messages }) => {
    const good = newEmail();
    const others = `${good}\n${email || newEmail()}`;
    const fields = { email: others, app: "", role: "", ...JSON.parse(typed || "{}") };
    expectPage(await submit(adminJar, "/console/new-person", fields), 422, ...messages.split(", "));
    expect(await people(good)).toBe(0);
  });

  test("creates each invitation once when it is sent twice", async () => {
    const page = await visit(service, adminJar, "/console/new-person");
    const email = `${newEmail()}\n${newEmail()}`;
    const fields = { ...readHidden(page.text), email, name: "", app: "", role: "" };
    const first = await visit(service, adminJar, "/console/new-person", { fields });
    for (const [, link = ""] of first.text.matchAll(/<code id="link-\d+">([^<]+)</g))
      service.secrets.add(link.split("token=")[1] ?? "none");
    const again = await visit(service, adminJar, "/console/new-person", { fields });
    expect(again.text.match(/Not invited: this form was already sent/g)).toHaveLength(2);
    const others = `${newEmail()}\n${newEmail()}`;
    const changed = { ...fields, email: others };
    const third = await visit(service, adminJar, "/console/new-person", { fields: changed });
    expect(third.text.match(/Not invited: this form was already sent/g)).toHaveLength(2);
  });
});
