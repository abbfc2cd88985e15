/** Emails through a real SMTP server: their text, recipients and number, and that no database or log contains their secrets. */
import { describe, expect, test } from "bun:test";
import { readMailFrom } from "../../src/mail/settings.ts";
import { TEMPLATES } from "../../src/mail/templates.ts";
import { makeDeliver } from "../../src/mail/transport.ts";
import {
  changeEmail,
  createUser,
  giveConsoleRole,
  makePasswordLink,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { listAudit } from "../support/lists.ts";
import { openMailServer, type Received } from "../support/mail_server.ts";
import { openMailService } from "../support/mail_service.ts";
import {
  choosePassword,
  makePerson,
  PASSWORD,
  readToken,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { share } from "../support/share.ts";

const { mails, service } = await share(openMailService());

const NEW = "seven slow green boats";
const UNNAMED = { displayName: undefined, consoleRole: undefined };
const deps = () => testDeps(service.service);

/** No email to this person is pending. */
async function settled(email: string): Promise<void> {
  const pending = `select from rowhouse.mails join rowhouse.users on users.id = user_id
    where email = $1 and sent_at is null and given_up_at is null`;
  await eventually(async () => (await service.query(pending, [email])).length === 0);
}

test("every template in the database's queue is defined, and every defined template is used", async () => {
  const bodies = await service.query<{ body: string }>(
    "select prosrc as body from pg_proc where pronamespace = 'rowhouse'::regnamespace",
  );
  const queued = bodies.flatMap(({ body }) =>
    [...body.matchAll(/queue_mail\([\w.]+, '(\w+)'|then person end, '(\w+)'/g)].map(
      ([, queuedFor = "", inserted = ""]) => queuedFor || inserted,
    ),
  );
  expect([...new Set(queued)].sort()).toEqual(Object.keys(TEMPLATES).sort());
});

function newAddress(): string {
  return `new-${crypto.randomUUID().slice(-12)}@example.org`;
}

function pathOf({ text }: Received): string {
  const [, path = ""] = /http:\/\/127\.0\.0\.1:\d+(\/\S+)/.exec(text) ?? [];
  return path;
}

test("an invitation has a link that sets a password, no other text, and a no-reply sender", async () => {
  const email = newAddress();
  await createUser(deps(), { email, displayName: "Ada <b>Lovelace</b>", consoleRole: undefined });
  const [mail] = await mails.waitFor(email);
  expect(mail?.headers.get("subject")).toBe("Your account: choose a password");
  expect(mail?.headers.get("from")).toBe("Rowhouse <no-reply@example.org>");
  expect(mail?.headers.get("auto-submitted")).toBe("auto-generated");
  expect(mail?.text).toContain("Hello Ada <b>Lovelace</b>,");
  expect(mail?.html).toContain("Hello Ada &lt;b&gt;Lovelace&lt;/b&gt;,");
  expect(mail?.html).not.toMatch(/<(img|script|link|style)\b|url\(/i);
  expect(mail?.html.match(/href="/g)).toHaveLength(1);
  const path = pathOf(mail as Received);
  expect(mail?.html).toContain(path);
  expect((await choosePassword(service, path, NEW)).status).toBe(303);
  expect((await submitSignIn(service, new Map(), { email, password: NEW })).status).toBe(303);
});

describe("a stolen serving login", () => {
  /** The functions that it can call with only its connection. */
  const act = (text: string) =>
    withDatabase(service.database.servingUrl, (login) => login.message(`${text}; select 1`));

  test("cannot trigger an email to an unknown address", async () => {
    const email = newAddress();
    const id = crypto.randomUUID();
    await act(`select rowhouse.create_linked_person('${id}', '${email}', sha256('x'), 'You won: evil.example',
      'https://x', '${id}', sha256('x' || uuid_send('${id}')), 'x', 'x')`);
    await service.query(
      `insert into rowhouse.mails (user_id, template, details)
      values ($1::text::uuid, 'new_device', '{"device": "Firefox on Linux", "from": "192.0.2.1"}')`,
      [id],
    );
    await settled(email);
    await eventually(async () => {
      const rows = await service.query(
        "select from rowhouse.mails where user_id = $1::text::uuid",
        [id],
      );
      return rows.length === 0;
    });
    expect(mails.received.filter(({ to }) => to.includes(email))).toEqual([]);
  });

  test("cannot add text to an email", async () => {
    const person = await makePerson(service);
    await act(`select rowhouse.ask_for_password('${person.email}', array['x'], array[10, 10], 900,
      'evil.example, where you won', null, null)`);
    await service.query(
      `insert into rowhouse.mails (user_id, template, details)
      values ($1::text::uuid, 'new_device', '{"device": "evil.example on Linux", "from": "::1 evil.example"}')`,
      [person.id],
    );
    await settled(person.email);
    const sent = (await mails.waitFor(person.email)).filter(({ text }) => / on \w{3}, /.test(text));
    expect(sent.map(({ headers }) => headers.get("subject")).toSorted()).toEqual([
      "New sign-in to your account",
      "Set a new password",
    ]);
    expect(sent.map(({ text, html }) => text + html).join("")).not.toContain("evil.example");
  });
});

describe("an email reports", () => {
  const cases: readonly {
    name: string;
    act: (person: { id: string; email: string }) => Promise<unknown>;
    subject: string;
    says: string;
  }[] = [
    {
      name: "a link that an administrator created",
      act: ({ email }) => makePasswordLink(deps(), email),
      subject: "Set a new password",
      says: "/set-password?token=",
    },
    {
      name: "a changed password",
      act: async (person) => {
        const jar = await signInAs(service, person);
        const form_token = readToken((await visit(service, jar, "/account/password")).text);
        const fields = { form_token, present: PASSWORD, password: NEW };
        await visit(service, jar, "/account/password", { fields });
      },
      subject: "Your password was changed",
      says: "from 127.0.0.1",
    },
    {
      name: "a sign-in on a new device, except for the first, also when the audit log has forgotten the first",
      act: async (person) => {
        await signInAs(service, person);
        await service.service.admin.message(
          `select pg_catalog.set_config('rowhouse.sweeps_audit', 'on', true);
          delete from rowhouse.audit where user_id = '${person.id}'; select 1`,
        );
        await signInAs(service, person);
      },
      subject: "New sign-in to your account",
      says: "/account/sessions",
    },
    {
      name: "a changed Console role",
      act: ({ email }) => giveConsoleRole(deps(), email, "admin"),
      subject: "Your role in the Console was changed",
      says: "Your Console role was changed to admin",
    },
  ];
  test.each(cases)("$name", async ({ act, subject, says }) => {
    const person = await makePerson(service);
    await settled(person.email);
    const before = (await mails.waitFor(person.email, 0)).length;
    await act(person);
    const sent = (await mails.waitFor(person.email, before + 1)).slice(before);
    expect(sent.map((mail) => mail.headers.get("subject"))).toEqual([subject]);
    expect(sent[0]?.text).toContain(says);
  });
});

test("a changed address is reported to both addresses, unless the invitation is pending", async () => {
  const [person, email, later] = [await makePerson(service), newAddress(), newAddress()];
  await settled(person.email);
  const before = (await mails.waitFor(person.email, 0)).length;
  await changeEmail(deps(), { email: person.email, newEmail: email });
  for (const [to, count] of [
    [person.email, before + 1],
    [email, 1],
  ] as const) {
    const [mail] = (await mails.waitFor(to, count)).slice(-1);
    expect(mail?.headers.get("subject")).toBe("Your email address was changed");
    expect(mail?.raw).not.toContain(to === email ? person.email : email);
  }
  const invited = newAddress();
  await createUser(deps(), { ...UNNAMED, email: invited });
  await settled(invited);
  await changeEmail(deps(), { email: invited, newEmail: later });
  await settled(later);
  expect([await mails.waitFor(invited, 0), await mails.waitFor(later, 0)]).toMatchObject([
    [{ to: [invited] }],
    [],
  ]);
});

test("a temporary SMTP error is retried, and a permanent error is not", async () => {
  const [later, never] = [newAddress(), newAddress()];
  const invite = (email: string) => createUser(deps(), { ...UNNAMED, email });
  mails.reject(2, 451);
  await invite(later);
  expect(await mails.waitFor(later)).toHaveLength(1);
  mails.reject(1, 550);
  await invite(never);
  await eventually(async () => {
    const [row] = await service.query<{ is_given_up: boolean }>(
      `select given_up_at is not null as is_given_up from rowhouse.mails join rowhouse.users on users.id = user_id
      where email = $1`,
      [never],
    );
    return row?.is_given_up === true;
  });
  expect(mails.received.filter(({ to }) => to.includes(never))).toEqual([]);
  const said = () => service.log.filter((line) => line.includes('"event":"mail"')).join("\n");
  // The notice is sent after the change is stored.
  await eventually(() => said().includes("EENVELOPE 550"), { describe: said });
  expect(said()).not.toMatch(/@|token/);
  const responses = service.processes.map((one) => one.adminFetch(new Request("http://x/metrics")));
  const metrics = (
    await Promise.all((await Promise.all(responses)).map((one) => one.text()))
  ).join();
  expect(metrics).toMatch(/rowhouse_mails_total\{template="invitation",outcome="rejected"\} 1/);
});

test("an email with an ended link, or to a disabled person, is not sent", async () => {
  const email = newAddress();
  mails.reject(1000, 451);
  await createUser(deps(), { ...UNNAMED, email });
  await setDisabled(deps(), email, true);
  // An attempt that has begun is still rejected: only an email that is dropped no longer waits.
  await settled(email);
  mails.reject(0, 451);
  expect(mails.received.filter(({ to }) => to.includes(email))).toEqual([]);
});

test("max five emails of a kind are sent to a person in an hour", async () => {
  const { id, email } = await makePerson(service);
  const add = (count: number) =>
    service.query(
      "insert into rowhouse.mails (user_id, template, sent_at) select $1, 'password_link', now() from generate_series(1, $2::int4)",
      [id, count],
    );
  await add(4);
  expect((await makePasswordLink(deps(), email)).isMailed).toBe(true);
  await add(5);
  expect((await makePasswordLink(deps(), email)).isMailed).toBe(false);
});

test("a server with an untrusted certificate gets no email", async () => {
  await using strange = await openMailServer({ isTls: true });
  const from = { name: "", address: "no-reply@example.org" };
  const deliver = makeDeliver({ url: strange.url, from, pagesUrl: "https://id.example.org" });
  const letter = { to: "ada@example.org", subject: "x", text: "x", html: "x", attachments: [] };
  expect(await deliver(letter)).toMatchObject({ delivery: "failed" });
  expect(strange.received).toEqual([]);
});

test("a name cannot add a header, a recipient or a line", async () => {
  const email = newAddress();
  const displayName = "Eve\r\nBcc: all@example.org\r\n\r\n\u202eHello";
  const { id } = await createUser(deps(), { email, displayName: "Eve", consoleRole: undefined });
  await mails.waitFor(email);
  // As a provider or a person may have typed it.
  await service.query("update rowhouse.users set display_name = $1 where id = $2", [
    displayName,
    id,
  ]);
  await makePasswordLink(deps(), email);
  const [, mail] = await mails.waitFor(email, 2);
  expect(mail?.to).toEqual([email]);
  expect(mail?.headers.get("to")).toBe(email);
  expect(mail?.headers.has("bcc")).toBe(false);
  expect(mail?.text).toContain("Hello Eve Bcc: all@example.org Hello,");
});

test.each([
  { text: "me@example.org", from: { name: "", address: "me@example.org" } },
  { text: "The Apps <me@example.org>", from: { name: "The Apps", address: "me@example.org" } },
  { text: "me@example.org\r\nBcc: all@example.org", from: undefined },
  { text: "Me\r\nBcc: all@example.org <me@example.org>", from: undefined },
  { text: "a@example.org, b@example.org", from: undefined },
  { text: "Me <a@example.org> <b@example.org>", from: undefined },
])("readMailFrom() reads $text as one sender, or rejects it", ({ text, from }) => {
  expect(readMailFrom(text)).toEqual(from);
});

test("neither the database nor the log contains a link", async () => {
  const email = newAddress();
  const { linkText } = await createUser(deps(), { ...UNNAMED, email });
  const [mail] = await mails.waitFor(email);
  expect(pathOf(mail as Received)).toBe(`/set-password?token=${linkText}`);
  const [, secret = ""] = linkText.split(".");
  const stored = await service.query<{ row: string }>(
    `select row_to_json(mails)::text as row from rowhouse.mails
    union all select row_to_json(password_links)::text from rowhouse.password_links
    union all select row_to_json(audit)::text from rowhouse.audit`,
  );
  expect(stored.length).toBeGreaterThan(2);
  expect(stored.map(({ row }) => row).join("\n") + service.log.join("\n")).not.toContain(secret);
  expect(JSON.stringify(await listAudit(deps(), 100))).not.toContain(secret);
});
