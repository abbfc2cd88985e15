/** Account pages: profile, password and sessions, by the forms that a browser sends. */
import { expect, test } from "bun:test";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { toDeviceName } from "../../src/records/sessions/mod.ts";
import { RECENT_SIGN_IN, RECENT_SIGN_IN_S } from "../../src/std/limits.ts";
import { cases } from "../support/cases.ts";
import { listAudit } from "../support/lists.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  PASSWORD,
  type Person,
  readHidden,
  readMe,
  readToken,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));

const NEW = "seven slow green boats";

const whoAmI = (jar: Jar) => readMe(service, jar);

async function send(jar: Jar, path: string, fields: Record<string, string>) {
  const form_token = readToken((await visit(service, jar, path)).text);
  return await visit(service, jar, path, { fields: { form_token, ...fields } });
}

async function actionsOf(person: Person) {
  const entries = await listAudit({ admin: service.service.admin }, 1000);
  return entries.filter((entry) => entry.userId === person.id && entry.actor === person.id);
}

test("/account links back to the Console only for administrators", async () => {
  for (const consoleRole of ["admin", undefined] as const) {
    const person = await makePerson(service, consoleRole === undefined ? {} : { consoleRole });
    const { text } = await visit(service, await signInAs(service, person), "/account");
    expect(text.includes('href="/console"')).toBe(consoleRole !== undefined);
  }
});

test("/account changes name and picture, and apps get them immediately", async () => {
  const person = await makePerson(service, { name: "Ada" });
  const jar = await signInAs(service, person);
  const typed = { name: " Ada Lovelace ", picture: "https://pictures.example.org/ada.png" };
  const saved = await send(jar, "/account", typed);
  expectRedirect(saved, "/account?saved=yes");
  const profile = { displayName: "Ada Lovelace", avatarUrl: typed.picture };
  expect((await whoAmI(jar)).json).toMatchObject(profile);
  await send(jar, "/account", { name: "Ada Lovelace", picture: "" });
  expect((await whoAmI(jar)).json).toMatchObject({ ...profile, avatarUrl: null });
  const [last, first] = await actionsOf(person);
  expect(first?.details).toEqual({ changed: ["displayName", "avatarUrl"] });
  expect(last?.details).toEqual({ changed: ["avatarUrl"] });
});

test.each([
  { field: "picture", value: "http://pictures.example.org/x" },
  { field: "picture", value: "javascript:alert(1)" },
  { field: "picture", value: "https://me:secret@pictures.example.org/x" },
  { field: "picture", value: `https://pictures.example.org/${"é".repeat(1000)}` },
  { field: "name", value: "x".repeat(201) },
  { field: "name", value: "two\nlines" },
  { field: "name", value: "a\u202eb" },
  { field: "name", value: "\u200b\u3164" },
])("/account rejects $value as $field, and changes nothing", async ({ field, value }) => {
  const jar = await signInAs(service, await makePerson(service, { name: "Bo" }));
  const response = await send(jar, "/account", { name: "Other", picture: "", [field]: value });
  expectPage(response, 422, `aria-describedby="${field}`);
  expect((await whoAmI(jar)).json).toMatchObject({ displayName: "Bo", avatarUrl: null });
});

test("/account/password sets a new password, and ends every session except this browser's", async () => {
  const person = await makePerson(service);
  const [here, there] = [await signInAs(service, person), await signInAs(service, person)];
  const before = new Map(here);
  const fields = { present: PASSWORD, password: NEW };
  expectRedirect(await send(here, "/account/password", fields), "/account/password?changed=yes");
  expect((await whoAmI(here)).status).toBe(200);
  expect((await visit(service, here, "/account/password?changed=yes")).text).toContain(
    "Password changed.",
  );
  for (const ended of [there, before]) expect((await whoAmI(ended)).status).toBe(401);
  const signIn = (password: string) =>
    submitSignIn(service, new Map(), { email: person.email, password });
  expect((await signIn(PASSWORD)).status).toBe(422);
  expect((await signIn(NEW)).status).toBe(303);
  const changed = (await actionsOf(person)).filter(({ action }) => action === "change_password");
  expect(changed).toMatchObject([{ details: { sessions: 1 }, client: expect.any(String) }]);
});

test.each([
  { name: "a wrong current password", fields: { present: "not it" }, says: "This is not your" },
  { name: "none", fields: { present: "" }, says: "Enter your current password." },
  { name: "a weak new password", fields: { password: "abcabcabcabcabc" }, says: "This repeats" },
])("/account/password rejects $name, and changes nothing", async ({ fields, says }) => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const typed = { present: PASSWORD, password: NEW };
  const response = await send(jar, "/account/password", { ...typed, ...fields });
  expectPage(response, 422, says);
  expect(response.text).not.toContain(NEW);
  expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
});

test("guesses at the current password count as sign-in attempts", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const page = await visit(service, jar, "/account/password");
  const fields = { form_token: readToken(page.text), password: NEW };
  const statuses = new Set<number>();
  for (let round = 0; round < 11; round++) {
    const sent = { fields: { ...fields, present: `guess ${round}` } };
    statuses.add((await visit(service, jar, "/account/password", sent)).status);
  }
  expect([...statuses]).toEqual([422, 429]);
}, 30_000);

test("/account/sessions lists the person's sessions, and ends one session or all others", async () => {
  const person = await makePerson(service);
  const jars = [];
  for (let count = 0; count < 4; count++) jars.push(await signInAs(service, person));
  const [here = new Map(), second = new Map(), third = new Map(), fourth = new Map()] = jars;
  const stranger = await signInAs(service, await makePerson(service));
  const idOf = (jar: Jar) => jar.get(SESSION_COOKIE)?.slice(0, 16) ?? "";
  const page = await visit(service, here, "/account/sessions");
  expect(page.text.match(/class="session"/g)).toHaveLength(4);
  expect(page.text.match(/this session/g)).toHaveLength(1);
  expect(page.text).toContain("from 127.0.0.1");
  expect(page.text).not.toContain(idOf(here));
  await send(here, "/account/sessions", { session: idOf(second) });
  await send(here, "/account/sessions", { session: idOf(stranger) });
  await send(here, "/account/sessions", { session: idOf(here) });
  const statuses = async () =>
    await Promise.all(
      [here, second, third, fourth, stranger].map(async (jar) => (await whoAmI(jar)).status),
    );
  expect(await statuses()).toEqual([200, 401, 200, 200, 200]);
  await send(here, "/account/sessions", { session: "others" });
  expect(await statuses()).toEqual([200, 401, 401, 401, 200]);
});

test.each(["/account", "/account/password", "/account/sessions", "/account/linked"])(
  "a sign-in returns to %s",
  async (path) => {
    const { email } = await makePerson(service);
    const jar: Jar = new Map();
    const signIn = (await visit(service, jar, path)).headers.get("location") ?? "";
    expect(signIn).toBe(`/login?${new URLSearchParams({ to: path })}`);
    const hidden = readHidden((await visit(service, jar, signIn)).text);
    const fields = { ...hidden, email, password: PASSWORD };
    const { headers } = await visit(service, jar, signIn, { fields });
    expect(headers.get("location")).toBe(path);
    expect((await visit(service, jar, path)).status).toBe(200);
  },
);

test.each(cases("name", "to", "ageS", "want")`
  with a session opens          | /account/sessions | 3600                      | 303
  with a recent sign-in opens   | /account/security | ${RECENT_SIGN_IN_S - 60} | 303
  asks for a new sign-in for    | /account/security | ${RECENT_SIGN_IN_S}      | 200
`)("/login $name $to", async ({ to, ageS, want }) => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  await service.service.admin.message(
    `update rowhouse.sessions set proven_at = now() - interval '${ageS} s' where user_id = '${person.id}'; select 1`,
  );
  const page = await visit(service, jar, `/login?${new URLSearchParams({ to })}`);
  if (want === "303") expectRedirect(page, to);
  else expectPage(page, 200, `requires a sign-in within the last ${RECENT_SIGN_IN}`);
});

const X11 = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1";
const WINDOWS =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0";
test.each([
  { agent: X11, name: "Firefox on Linux" },
  { agent: IPHONE, name: "Safari on iPhone" },
  { agent: WINDOWS, name: "Edge on Windows" },
  { agent: "<script>alert(1)</script>", name: "Unknown browser" },
  { agent: null, name: "Unknown browser" },
])("toDeviceName() returns $name", ({ agent, name }) => {
  expect(toDeviceName(agent)).toBe(name);
});
