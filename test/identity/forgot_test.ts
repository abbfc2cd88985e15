/** Password reset: the emailed link, and responses that do not reveal accounts. */
import { expect, test } from "bun:test";
import { createUser, setDisabled } from "../../src/records/people/mod.ts";
import { toDurationText } from "../../src/std/duration.ts";
import { FORGOTTEN_LINK_LIFE_S } from "../../src/std/limits.ts";
import { TEST_HASHING, testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { mailTo, openMailServer } from "../support/mail_server.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  readToken,
  sharedCookie,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { countRequested } from "../support/requested.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

/** One host for pages and API. */
const onOneHost = (port: number) => ({
  publicUrl: `http://127.0.0.1:${port}`,
  cookieDomain: "example.org",
});

const mails = await share(openMailServer());
const service = await share(
  openTestService({
    identity: onOneHost,
    service: { mail: mailTo(mails) },
  }),
);

const NEW = "seven slow green boats";

/** Requests of one browser, which reads the form's token once. */
async function openForm(by = service) {
  const jar: Jar = new Map();
  const form_token = readToken((await visit(by, jar, "/forgot")).text);
  return (email: string) => visit(by, jar, "/forgot", { fields: { form_token, email } });
}

const mailsTo = (email: string, subject: string) =>
  mails.received.filter(
    (mail) => mail.to.includes(email) && mail.headers.get("subject") === subject,
  );

/** Waits for this number of emails to an address, and returns their links. */
async function linksTo(email: string, count = 1): Promise<string[]> {
  const sent = () => mailsTo(email, "Set a new password");
  await eventually(() => sent().length >= count);
  return sent().map(({ text }) => /(\/set-password\S+)/.exec(text)?.[1] ?? "");
}

test("an emailed link sets a new password once, ends all sessions, and triggers a confirmation email", async () => {
  const person = await makePerson(service);
  const signedIn = await signInAs(service, person);
  const ask = await openForm();
  const response = await ask(` ${person.email.toUpperCase()} `);
  expectRedirect(response, "/forgot?sent=yes");
  const [path = ""] = await linksTo(person.email);
  const jar: Jar = new Map();
  const page = await visit(service, jar, path);
  // Opening the link, as programs that check emails do, does not use it up.
  expect((await visit(service, new Map(), path)).status).toBe(200);
  const fields = { ...readHidden(page.text), password: NEW };
  expect((await visit(service, jar, "/set-password", { fields })).status).toBe(303);
  expect((await visit(service, jar, "/set-password", { fields })).status).toBe(404);
  const headers = { cookie: sharedCookie(signedIn) };
  expect((await service.call(undefined, "/v1/auth/me", { headers })).status).toBe(401);
  const typed = { email: person.email, password: NEW };
  expect((await submitSignIn(service, new Map(), typed)).status).toBe(303);
  await eventually(() => mailsTo(person.email, "Your password was changed").length === 1);
});

test("page, email and database agree on the lifetime of a link", async () => {
  const person = await makePerson(service);
  await (await openForm())(person.email);
  await linksTo(person.email);
  const [mail] = mailsTo(person.email, "Set a new password");
  const expiry = `expires in ${toDurationText(FORGOTTEN_LINK_LIFE_S)}`;
  expect((await visit(service, new Map(), "/forgot?sent=yes")).text).toContain(expiry);
  expect(mail?.text.replaceAll("\n", " ")).toContain(expiry);
});

test("a link expires, and a newer link replaces it", async () => {
  const person = await makePerson(service);
  const ask = await openForm();
  await ask(person.email);
  await linksTo(person.email);
  await ask(person.email);
  const [first = "", second = ""] = await linksTo(person.email, 2);
  const statusOf = async (path: string) => (await visit(service, new Map(), path)).status;
  expect([await statusOf(first), await statusOf(second)]).toEqual([404, 200]);
  const [link] = (await service.query(
    "select extract(epoch from expires_at - created_at)::int4 as life_s from rowhouse.password_links where user_id = $1::text::uuid",
    [person.id],
  )) as { life_s: number }[];
  expect(link?.life_s).toBeWithin(FORGOTTEN_LINK_LIFE_S - 5, FORGOTTEN_LINK_LIFE_S + 2);
});

test("the response has the same status and text for every address", async () => {
  const person = await makePerson(service);
  const others = await makeOthers();
  const ask = await openForm();
  const responses = new Set<string>();
  for (const email of Array.from({ length: 5 }, () => [person.email, ...others]).flat()) {
    await service.query("delete from rowhouse.throttle");
    const { status, headers, text } = await ask(email);
    responses.add(`${status} ${headers.get("location")} ${text}`);
  }
  expect([...responses]).toEqual(["303 /forgot?sent=yes "]);
  await linksTo(person.email, 5);
  const sent = [person.email, ...others].map((email) => linksTo(email, 0));
  expect((await Promise.all(sent)).map((links) => links.length)).toEqual([5, 0, 0, 0, 0]);
});

test("a request costs the same statements, hashes and queued emails for known and unknown addresses", async () => {
  await using proxy = await openPostgresProxy();
  let hashes = 0;
  const count = <Args extends unknown[], Result>(run: (...args: Args) => Result) => {
    return (...args: Args): Result => {
      hashes++;
      return run(...args);
    };
  };
  const { make, verify, isCurrent } = TEST_HASHING;
  await using counted = await openTestService({
    toServingUrl: proxy.toUrl,
    identity: onOneHost,
    service: {
      ...UNGUARDED,
      hashing: { make: count(make), verify: count(verify), isCurrent },
      // Never sends during a test.
      mail: mailTo(mails, 3600),
    },
  });
  const ask = await openForm(counted);
  const emails = [(await makePerson(counted)).email, ...(await makeOthers(counted))];
  await ask(emails[0] ?? "");
  hashes = 0;
  const costs: object[] = [];
  for (const email of emails) {
    const before = countRequested(proxy);
    await counted.service.admin.message("delete from rowhouse.mails returning 1");
    expect((await ask(email)).status).toBe(303);
    const [row] = await counted.query<{ mails: number }>(
      "select count(*)::int4 as mails from rowhouse.mails",
    );
    costs.push({ statements: countRequested(proxy) - before, hashes, mails: row?.mails });
  }
  expect(costs).toEqual(emails.map(() => ({ statements: 1, hashes: 0, mails: 1 })));
});

/** Addresses that get no link: unknown, of a disabled person, of an invited person, and invalid. */
async function makeOthers(by = service): Promise<string[]> {
  const disabled = await makePerson(by);
  await setDisabled(testDeps(by.service), disabled.email, true);
  const invited = `invited-${crypto.randomUUID().slice(-8)}@example.org`;
  const options = { email: invited, displayName: undefined, consoleRole: undefined };
  await createUser(testDeps(by.service), options);
  return ["nobody@example.org", disabled.email, invited, "not an address\u0000"];
}

test("requests are counted by address and by client, separately from sign-ins", async () => {
  const person = await makePerson(service);
  const ask = await openForm();
  const statuses: number[] = [];
  for (let round = 0; round < 11; round++) statuses.push((await ask(person.email)).status);
  expect(statuses.slice(0, 10).every((status) => status === 303)).toBe(true);
  expect(statuses[10]).toBe(429);
  expect((await submitSignIn(service, new Map(), person)).status).toBe(303);
});

test("a form without its token, or from another site, requests nothing", async () => {
  const jar: Jar = new Map();
  const form_token = readToken((await visit(service, jar, "/forgot")).text);
  const fields = { form_token, email: "nobody@example.org" };
  const foreign = { fields, origin: "https://wiki.example.org" };
  expect((await visit(service, jar, "/forgot", foreign)).status).toBe(403);
  const other = { fields: { ...fields, form_token: "x" } };
  expect((await visit(service, jar, "/forgot", other)).status).toBe(403);
  const empty = await visit(service, jar, "/forgot", { fields: { form_token, email: " " } });
  expectPage(empty, 422, "Enter your email address.");
});

test("the page names the administrator and has no form if mail is not set up", async () => {
  await using silent = await openTestService();
  const page = await visit(silent, new Map(), "/forgot");
  expectPage(page, 200, "Ask your administrator");
  expect(page.text).not.toContain("<form");
  expect((await visit(silent, new Map(), "/login")).text).not.toContain("/forgot");
});
