/** An address gives access only if this service has set it. */
import { expect, test } from "bun:test";
import { findMailedLink } from "../../src/records/mails/mod.ts";
import {
  changeEmail,
  confirmAddresses,
  createUser,
  isConfirmed,
  makePasswordLink,
  readAddresses,
} from "../../src/records/people/mod.ts";
import { makeIdentitySecrets } from "../../src/records/secrets/mod.ts";
import { checkIdentitySecrets } from "../../src/service/doctor/identity_values.ts";
import { IDENTITY_SECRETS, TEST_IDENTITY_SECRET, testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { mailTo, openMailServer } from "../support/mail_server.ts";
import { textOf } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  readToken,
  signInAs,
  submitForm,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { invite, signInWith } from "../support/provider_people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const NEXT = "another secret of the tests: 32 bytes or more";
const mails = await share(openMailServer());
const ours = await share(
  startProvider({ name: "ours", trustedDomains: ["example.org"], creates: true }),
);
const service = await share(
  openTestService({
    identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, providers: [ours.settings] }),
    service: {
      identitySecrets: [NEXT, TEST_IDENTITY_SECRET],
      mail: mailTo(mails),
    },
  }),
);
service.secrets.add(NEXT);
ours.register(`${service.url}/oidc/ours/callback`);

const newEmail = () => `changed-${crypto.randomUUID().slice(-12)}@example.org`;
const SECRETS = makeIdentitySecrets([NEXT, TEST_IDENTITY_SECRET]);

/** Runs as an administrator of the database without the secret. */
function write(text: string, values: string[]) {
  return service.query<Record<string, unknown>>(text, values);
}

async function ask(email: string): Promise<void> {
  const jar: Jar = new Map();
  const form_token = readToken((await visit(service, jar, "/forgot")).text);
  expect((await visit(service, jar, "/forgot", { fields: { form_token, email } })).status).toBe(
    303,
  );
}

const isMailed = (email: string) => mails.received.some(({ to }) => to.includes(email));

/** Waits until all earlier emails are sent or dropped. */
async function drain(): Promise<void> {
  const waits = "select 1 from rowhouse.mails where sent_at is null and given_up_at is null";
  await eventually(async () => (await write(waits, [])).length === 0);
}

async function readAddress(userId: string) {
  const [row] = await write(
    `select id::text as "userId", email, encode(email_digest, 'hex') as digest, email_secret_id as "secretId"
    from rowhouse.users where id = $1::text::uuid`,
    [userId],
  );
  return row as Parameters<typeof isConfirmed>[1];
}

test("the Console promises no email to an address that this service did not set", async () => {
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "super_admin" }));
  await eventually(async () => (await write("select from rowhouse.mail_sender", [])).length > 0);
  const [invited, person] = [await invite(service), await makePerson(service)];
  const acts = [
    `/console/people/${invited.id}/resend-invitation`,
    `/console/people/${person.id}/password-link`,
  ];
  const send = async (path: string) => {
    const response = await submitForm(service, jar, { path });
    service.secrets.add(/token=([\w.-]+)/.exec(response.text)?.[1] ?? "none");
    return textOf(response);
  };
  for (const path of acts) expect(await send(path)).toContain("This link is being emailed");
  for (const { id } of [invited, person])
    await write("update rowhouse.users set email_digest = sha256('x') where id = $1", [id]);
  expect(textOf(await visit(service, jar, acts[0] ?? ""))).toContain("This creates a new link for");
  for (const path of acts) {
    const says = await send(path);
    expect(says).toContain("Copy this link now");
    expect(says).toContain("not confirmed");
  }
  for (const { id } of [invited, person])
    await write("delete from rowhouse.users where id = $1", [id]);
});

test("an address changed in the database gets no link, and its owner signs in as before", async () => {
  const [victim, thief] = [await makePerson(service), await makePerson(service)];
  const email = newEmail();
  for (const change of [
    "email = $2",
    "email = $2, email_digest = sha256('x'), email_secret_id = other.email_secret_id",
    // With the confirmation of the thief's address, or of the person's earlier address.
    "email = $2, email_digest = other.email_digest, email_secret_id = other.email_secret_id",
  ])
    for (const from of [thief, victim]) {
      await write(
        `update rowhouse.users as users set ${change} from rowhouse.users as other
        where users.id = $1::text::uuid and other.id = '${from.id}'`,
        [victim.id, email],
      );
      await write("delete from rowhouse.mails", []);
      await ask(email);
      await drain();
      expect([change, isMailed(email)]).toEqual([change, false]);
    }
  expect((await submitSignIn(service, new Map(), { ...victim, email })).status).toBe(303);
  const { unconfirmed } = await readAddresses({ db: service.service.db }, SECRETS);
  expect(unconfirmed.map((one) => one.email)).toEqual([email]);
  const findings = await checkIdentitySecrets(service.service.db, [NEXT, TEST_IDENTITY_SECRET]);
  expect(findings.map(({ message }) => message)).toContainEqual(
    expect.stringContaining("1 is not confirmed by a secret"),
  );
  const deps = { admin: service.service.admin, identitySecrets: SECRETS };
  expect(await confirmAddresses(deps, unconfirmed, { isRenewal: false })).toBe(1);
  // A confirmed address can still belong to a thief's account. Its owner starts again with a link.
  expect((await submitSignIn(service, new Map(), { ...victim, email })).status).toBe(422);
  await write("delete from rowhouse.mails", []);
  const link = await makePasswordLink(testDeps(service.service), email);
  service.secrets.add(link.linkText);
  await eventually(() => isMailed(email));
});

test("an invited address changed in the database is not linked, and gets no invitation", async () => {
  const person = await invite(service);
  const email = newEmail();
  await write(
    `with moved as (update rowhouse.users set email = $2 where id = $1::text::uuid)
    insert into rowhouse.mails (user_id, template, link_id)
    select user_id, 'invitation', id from rowhouse.password_links where user_id = $1::text::uuid`,
    [person.id, email],
  );
  ours.accounts.set("changed", { email, email_verified: true });
  expect((await signInWith(service, new Map(), { login: "changed" })).status).toBe(403);
  await drain();
  expect(isMailed(email)).toBe(false);
});

test("an email with an altered address is not sent to that address", async () => {
  const [victim, thief] = [await makePerson(service), newEmail()];
  const link = await makePasswordLink(testDeps(service.service), victim.email);
  service.secrets.add(link.linkText);
  await drain();
  await write(
    `insert into rowhouse.mails (user_id, template, link_id, details)
    select $1::text::uuid, template, case when template <> 'forgotten_password' then $3 end, jsonb_build_object('to', $2::text)
    from unnest(array['forgotten_password', 'password_link', 'invitation', 'address_changed']) as template`,
    [victim.id, thief, link.linkText.split(".")[0] ?? ""],
  );
  await drain();
  expect(isMailed(thief)).toBe(false);
});

test("a change of address confirms the new address and ends pending links to the old address", async () => {
  const person = await makePerson(service);
  const [email, before] = [newEmail(), await readAddress(person.id)];
  const [mail] = await write(
    `insert into rowhouse.mails (user_id, template, next_try_at) values ($1::text::uuid, 'forgotten_password', now() + interval '1 hour')
    returning id::int4, (select to_jsonb(users) - 'id' from rowhouse.users where id = $1::text::uuid)::text as person`,
    [person.id],
  );
  const { password_hash: hash, password_secret_id: secretId } = JSON.parse(
    String(mail?.["person"]),
  );
  const deps = { ...testDeps(service.service), db: service.service.db, identitySecrets: SECRETS };
  const claimedFor = (address: typeof before) => ({
    ...{ id: Number(mail?.["id"]), template: "forgotten_password" as const, userId: person.id },
    ...{ email: address.email, emailDigest: address.digest, emailSecretId: address.secretId },
    ...{ displayName: null, isDisabled: false, details: {}, createdAt: "", hasLink: false },
    ...{ link: null, password: { hash, secretId } },
  });
  await changeEmail(deps, { email: person.email, newEmail: email });
  expect(isConfirmed(SECRETS, await readAddress(person.id))).toBe(true);
  expect(await findMailedLink(deps, claimedFor(before))).toBeUndefined();
  const text = await findMailedLink(deps, claimedFor(await readAddress(person.id)));
  service.secrets.add(text ?? "none");
  expect(text).toBeString();
  await write("delete from rowhouse.mails where template = 'forgotten_password'", []);
});

test("a change of address works while an email renews the proof of the address", async () => {
  const person = await makePerson(service);
  await drain();
  const { admin } = service.service;
  const older = { admin, identitySecrets: IDENTITY_SECRETS };
  await confirmAddresses(older, [await readAddress(person.id)], { isRenewal: true });
  let calls = 0;
  const renewing: typeof admin = {
    ...admin,
    query: async (text, values, options) => {
      const rows = await admin.query(text, values, options);
      calls += 1;
      const stored = [await readAddress(person.id)];
      if (calls === 1)
        await confirmAddresses({ admin, identitySecrets: SECRETS }, stored, { isRenewal: true });
      return rows as never;
    },
  };
  const deps = { ...testDeps(service.service), admin: renewing, identitySecrets: SECRETS };
  const changed = { email: person.email, newEmail: newEmail() };
  expect(await changeEmail(deps, changed)).toEqual({
    email: changed.newEmail,
    before: person.email,
  });
  expect([calls, isConfirmed(SECRETS, await readAddress(person.id))]).toEqual([2, true]);
});

test("an invitation or a provider confirms an address", async () => {
  const email = newEmail();
  const made = { email, displayName: undefined, consoleRole: undefined };
  const { id } = await createUser(testDeps(service.service), made);
  expect(isConfirmed(IDENTITY_SECRETS, await readAddress(id))).toBe(true);
  const login = newEmail();
  ours.accounts.set(login, { email: login, email_verified: true });
  expect((await signInWith(service, new Map(), { login })).status).toBe(303);
  const [row] = await write("select id::text as id from rowhouse.users where email = $1", [login]);
  const stored = await readAddress(String(row?.["id"]));
  expect([stored.secretId, isConfirmed(SECRETS, stored)]).toEqual([SECRETS.current.id, true]);
  // The confirmation is valid only for this person and this address.
  for (const other of [{ userId: id }, { email: newEmail() }, { secretId: null }, { digest: null }])
    expect(isConfirmed(SECRETS, { ...stored, ...other })).toBe(false);
});

test("an emailed link renews the proof of an address under an older secret", async () => {
  const person = await makePerson(service);
  await drain();
  const older = { admin: service.service.admin, identitySecrets: IDENTITY_SECRETS };
  await confirmAddresses(older, [await readAddress(person.id)], { isRenewal: true });
  expect((await readAddress(person.id)).secretId).toBe(IDENTITY_SECRETS.current.id);
  mails.received.length = 0;
  await ask(person.email);
  await eventually(() => isMailed(person.email));
  const stored = await readAddress(person.id);
  expect(stored.secretId).toBe(SECRETS.current.id);
  expect(isConfirmed(makeIdentitySecrets([NEXT]), stored)).toBe(true);
});
