/** Passkeys on the account page, and sign-in with only a passkey: valid responses, and every invalid response. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { SettingsService } from "@simplewebauthn/server";
import { CHALLENGE_COOKIE } from "../../src/identity/passkeys/response.ts";
import { findRelyingParty } from "../../src/identity/settings.ts";
import { exportUser } from "../../src/records/people/mod.ts";
import { CHALLENGE_LIFE_S } from "../../src/std/limits.ts";
import { listEvents } from "../support/audit_events.ts";
import { type Lies, makeAuthenticator } from "../support/authenticator.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { expectPage, expectRedirect, textOf } from "../support/page_text.ts";
import {
  addPasskey,
  type Holder,
  makeHolder,
  PASSKEYS,
  readAsked,
  sendPasskey,
  submitPasskey,
  toNamed,
} from "../support/passkeys.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  PASSWORD,
  readHidden,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { enrol, enterFactor, passPassword, readCodes } from "../support/second_factor.ts";
import { openBeside, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const opened = await openTestService({
  identity: (port) => ({
    publicUrl: `http://localhost:${port}`,
    identityUrl: `http://localhost:${port}`,
  }),
});
const service = await share(toNamed(opened));
// All tests come from one address.
beforeEach(() => service.query("delete from rowhouse.throttle").then(() => undefined));

/** Opens a page, and the response of an authenticator to its request. */
async function prepare(
  { get, create }: Pick<Holder["authenticator"], "get" | "create">,
  { path = "/login", jar = new Map() }: { path?: string; jar?: Jar } = {},
) {
  const page = await visit(service, jar, path);
  const asked = readAsked(page) ?? { challenge: "" };
  const passkey = path === PASSKEYS ? create(asked) : get(asked);
  return { jar, page, asked, passkey, form_token: readHidden(page.text)["form_token"] ?? "" };
}

const isSignedIn = async (jar: Jar, email: string) =>
  (await visit(service, jar, "/login")).text.includes(email);

test("a person adds a passkey and signs in with only the passkey, which proves both factors", async () => {
  const { person, authenticator } = await makeHolder(service);
  authenticator.count = 7;
  const jar: Jar = new Map();
  const page = await visit(service, jar, "/login");
  // The response does not depend on the existing passkeys.
  expect(readAsked(page)).toEqual({
    challenge: expect.stringMatching(/^[\w-]{43}$/),
    rpId: "localhost",
    timeout: CHALLENGE_LIFE_S * 1000,
    allowCredentials: [],
    userVerification: "required",
  });
  expectRedirect(await submitPasskey(service, jar, { authenticator }), "/login");
  expect(jar.has(CHALLENGE_COOKIE)).toBe(false);
  expect(await isSignedIn(jar, person.email)).toBe(true);
  const [row] = await service.query(
    `select sign_count::int as count, last_used_at is not null as is_used, transports::text from rowhouse.passkeys
    where user_id = $1`,
    [person.id],
  );
  expect(row).toEqual({ count: 8, is_used: true, transports: "{internal,hybrid}" });
  expect(await listEvents(service, person.id)).toEqual(
    expect.arrayContaining(["add_passkey", "sign_in passkey"]),
  );
});

const LIES: (Lies & { name: string })[] = [
  { name: "another origin", origin: "http://localhost.example.org" },
  { name: "the origin of another port", origin: "http://localhost:1" },
  { name: "another host", rpId: "example.org" },
  { name: "an unknown challenge", challenge: "c2hvcnQ" },
  { name: "a registration response", type: "webauthn.create" },
  { name: "a frame on another page", client: { crossOrigin: true } },
  { name: "a frame that names its origin", client: { topOrigin: "http://localhost.example.org" } },
  { name: "no user presence", isPresent: false },
  { name: "no user verification", isVerified: false },
  { name: "a changed signature", isTampered: true },
  { name: "a passkey without an account", credentialId: "AAAA" },
  { name: "another person", userHandle: Buffer.alloc(16, 7).toString("base64url") },
  { name: "no person", userHandle: null },
  { name: "an empty person", userHandle: "" },
];

describe("a passkey response cannot sign in", () => {
  let holder: Holder;
  beforeAll(async () => {
    holder = await makeHolder(service);
  });

  test.each(LIES)("with $name", async ({ name: _, ...lies }) => {
    const jar: Jar = new Map();
    const { authenticator, person } = holder;
    expectPage(await submitPasskey(service, jar, { authenticator, lies }), 422, "was not accepted");
    expect(await isSignedIn(jar, person.email)).toBe(false);
    // The same browser's next response is valid.
    expect((await submitPasskey(service, jar, { authenticator })).status).toBe(303);
  });

  test("with the key of one person and the id of another", async () => {
    const other = await makeHolder(service);
    const lies = { credentialId: other.authenticator.credentialId };
    const jar: Jar = new Map();
    const { authenticator } = holder;
    expect((await submitPasskey(service, jar, { authenticator, lies })).status).toBe(422);
  });

  test.each(["", "{}", "[]", "null", '{"id":1}', "{", `{"id":"${"a".repeat(9000)}"}`])(
    "with the value %p",
    async (passkey) => {
      const jar: Jar = new Map();
      const page = await visit(service, jar, "/login");
      expect((await sendPasskey(service, jar, { page, passkey })).status).toBe(422);
    },
  );

  test("twice, in any browser", async () => {
    const { jar, page, passkey } = await prepare(holder.authenticator);
    const before = new Map(jar);
    expect((await sendPasskey(service, jar, { page, passkey })).status).toBe(303);
    expectPage(await sendPasskey(service, before, { page, passkey }), 422, "request expired");
    const other: Jar = new Map();
    const own = await visit(service, other, "/login");
    expect((await sendPasskey(service, other, { page: own, passkey })).status).toBe(422);
  });

  test("without its challenge's cookie, or with a cookie for another purpose", async () => {
    const { jar, page, passkey } = await prepare(holder.authenticator);
    const own = new Map(jar);
    own.delete(CHALLENGE_COOKIE);
    expect((await sendPasskey(service, own, { page, passkey })).status).toBe(422);
    const adding = await visit(service, holder.jar, PASSKEYS);
    const asked = readAsked(adding) ?? { challenge: "" };
    jar.set(CHALLENGE_COOKIE, holder.jar.get(CHALLENGE_COOKIE) ?? "");
    const wrong = holder.authenticator.get({ ...asked, rpId: "localhost" });
    expect((await sendPasskey(service, jar, { page, passkey: wrong })).status).toBe(422);
  });
});

test("a passkey whose counter does not increase is rejected as a copy, and the audit log has an entry", async () => {
  const { person, authenticator } = await makeHolder(service);
  const tryWith = async (count: number) =>
    (await submitPasskey(service, new Map(), { authenticator, lies: { count } })).status;
  expect(await tryWith(5)).toBe(303);
  for (const count of [5, 4, 0]) expect(await tryWith(count)).toBe(422);
  expect(await tryWith(6)).toBe(303);
  const events = await listEvents(service, person.id);
  expect(events.filter((event) => event.includes("counter"))).toEqual(
    Array(3).fill("sign_in_rejected passkey counter"),
  );
});

describe("a row that the service did not create does not sign in", () => {
  const copy = (column: string) =>
    `${column} = (select ${column} from rowhouse.passkeys where user_id = $2::uuid), user_id = $1::uuid`;
  test.each([
    ["of another person", "user_id = $2::uuid"],
    ["with another key", copy("public_key")],
    ["with the digest of another row", copy("digest")],
    [
      "under the name of another secret",
      "secret_id = 'none', user_id = coalesce($1::uuid, $2::uuid)",
    ],
  ])("%s", async (_, change) => {
    const [one, two] = [await makeHolder(service), await makeHolder(service)];
    await service.query(`update rowhouse.passkeys set ${change} where user_id = $1::uuid`, [
      ...[one.person.id, two.person.id],
    ]);
    const handle = Buffer.from(two.person.id.replaceAll("-", ""), "hex").toString("base64url");
    for (const { authenticator, lies } of [
      { authenticator: one.authenticator, lies: {} },
      { authenticator: one.authenticator, lies: { userHandle: handle } },
      { authenticator: two.authenticator, lies: { credentialId: one.authenticator.credentialId } },
    ]) {
      const jar: Jar = new Map();
      expect((await submitPasskey(service, jar, { authenticator, lies })).status).toBe(422);
      expect(await isSignedIn(jar, "@example.org")).toBe(false);
    }
  });
});

test("a person who is disabled or removed the passkey cannot finish the sign-in", async () => {
  const { person, jar, authenticator } = await makeHolder(service);
  await service.query("update rowhouse.users set disabled_at = now() where id = $1", [person.id]);
  expect((await submitPasskey(service, new Map(), { authenticator })).status).toBe(422);
  await service.query("update rowhouse.users set disabled_at = null where id = $1", [person.id]);
  expect((await submitPasskey(service, new Map(), { authenticator })).status).toBe(303);
  const page = await visit(service, jar, PASSKEYS);
  const [, path = ""] = /href="([^"]*[?]remove=[0-9a-f]+)"/.exec(page.text) ?? [];
  const asked = await visit(service, jar, path);
  expect(textOf(asked)).toContain("only second factor");
  const pending = await passPassword(service, person);
  const removed = await visit(service, jar, PASSKEYS, { fields: readHidden(asked.text) });
  expect(removed.headers.get("location")).toBe(`${PASSKEYS}?done=remove`);
  expect((await submitPasskey(service, new Map(), { authenticator })).status).toBe(422);
  expect(await listEvents(service, person.id)).toContain("remove_passkey");
  // No factor could finish this sign-in.
  expect((await visit(service, pending.jar, pending.location)).status).toBe(303);
});

test("a person with a passkey and no recovery codes gets a notice", async () => {
  const { jar, person } = await makeHolder(service);
  const counted = textOf(await visit(service, jar, "/account/security"));
  expect(counted).toMatch(/Recovery codes\s+10 left/);
  await service.query("delete from rowhouse.recovery_codes where user_id = $1", [person.id]);
  const page = await visit(service, jar, "/account/security");
  expect(textOf(page)).toMatch(/Recovery codes\s+none\s+for when you do not have your phone/);
});

describe("a passkey as the first second factor", () => {
  test("creates recovery codes for one sign-in each, and continues", async () => {
    const { slug } = await service.makeApp(undefined, { origins: ["https://next.example.org"] });
    const target = `?${new URLSearchParams({ app: slug, redirect_uri: "https://next.example.org/x" })}`;
    const person = await makePerson(service);
    const jar = await signInAs(service, person);
    const security = await visit(service, jar, `/account/security${target}`);
    const [, path = ""] =
      /href="(\/account\/security\/passkeys[^"]*)"/.exec(security.text.replaceAll("&amp;", "&")) ??
      [];
    const authenticator = makeAuthenticator(service.url);
    const page = await visit(service, jar, path);
    const added = await addPasskey(service, jar, { authenticator, path });
    expect(added.text).toContain('href="https://next.example.org/x">I have saved them</a>');
    const codes = readCodes(added.text);
    expect([added.status, codes.length, jar.has(CHALLENGE_COOKIE)]).toEqual([200, 10, false]);
    const passkey = authenticator.create({ challenge: "" });
    expectPage(await sendPasskey(service, jar, { page, path, passkey }), 422, "already added");
    const { jar: other } = await passPassword(service, person);
    expect((await enterFactor(service, other, { recovery: codes[0] ?? "" })).status).toBe(303);
    const further = await addPasskey(service, jar, {
      authenticator: makeAuthenticator(service.url),
    });
    expect([further.status, readCodes(further.text)]).toEqual([303, []]);
    expect(textOf(await visit(service, jar, "/account/security"))).toContain("9 left");
  });

  test("ends all sessions without a factor, and a further factor ends none", async () => {
    const person = await makePerson(service);
    const [stolen, jar] = [await signInAs(service, person), await signInAs(service, person)];
    const authenticator = makeAuthenticator(service.url);
    const added = await addPasskey(service, jar, { authenticator });
    expect(textOf(added)).toContain("All your other sessions have ended");
    expect(await isSignedIn(stolen, person.email)).toBe(false);
    const second: Jar = new Map();
    await submitPasskey(service, second, { authenticator });
    await addPasskey(service, jar, { authenticator: makeAuthenticator(service.url) });
    await enrol(service, jar);
    for (const browser of [jar, second]) expect(await isSignedIn(browser, person.email)).toBe(true);
  });
});

describe("the account's passkey page", () => {
  test("adds a passkey once, with a name that its owner can change", async () => {
    const { jar, authenticator } = await makeHolder(service);
    const other = await signInAs(service, await makePerson(service));
    for (const browser of [jar, other]) {
      expectPage(await addPasskey(service, browser, { authenticator }), 422, "already in use");
    }
    const page = await visit(service, jar, PASSKEYS);
    expect(readAsked(page)).toMatchObject({
      excludeCredentials: [{ id: authenticator.credentialId, type: "public-key" }],
      attestation: "none",
    });
    const [, ref = ""] = /name="ref" value="([0-9a-f]+)"/.exec(page.text) ?? [];
    const { form_token = "" } = readHidden(page.text);
    const label = "<b>key</b> \u202e";
    const fields = { form_token, act: "rename", ref, label };
    expect((await visit(service, jar, PASSKEYS, { fields })).status).toBe(303);
    expect((await visit(service, jar, PASSKEYS)).text).toContain("&lt;b&gt;key");
    const tooLong = { ...fields, label: "x".repeat(61) };
    expect((await visit(service, jar, PASSKEYS, { fields: tooLong })).status).toBe(422);
    // Another person has none.
    const theirs = readHidden((await visit(service, other, PASSKEYS)).text);
    for (const act of ["rename", "remove"])
      await visit(service, other, PASSKEYS, {
        fields: { ...fields, form_token: theirs["form_token"] ?? "", act, label: "theirs" },
      });
    expect((await visit(service, jar, PASSKEYS)).text).toContain("&lt;b&gt;key");
  });

  test("rejects a wrong response, and does not require user verification to add a passkey", async () => {
    const jar = await signInAs(service, await makePerson(service));
    const authenticator = makeAuthenticator(service.url);
    for (const { name, ...lies } of LIES.slice(0, 8)) {
      const told = lies.type === undefined ? lies : { ...lies, type: "webauthn.get" };
      const rejected = await addPasskey(service, jar, { authenticator, lies: told });
      expect([name, rejected.status, textOf(rejected).includes("could not be verified")]).toEqual([
        name,
        422,
        true,
      ]);
    }
    const lies = { isVerified: false };
    expect((await addPasskey(service, jar, { authenticator, lies })).status).toBe(200);
  });

  test("adds no passkey in another session, or without a recent sign-in", async () => {
    const person = await makePerson(service);
    const jar = await signInAs(service, person);
    const authenticator = makeAuthenticator(service.url);
    const { passkey, form_token } = await prepare(authenticator, { path: PASSKEYS, jar });
    const elsewhere = await signInAs(service, person);
    elsewhere.set(CHALLENGE_COOKIE, jar.get(CHALLENGE_COOKIE) ?? "");
    const own = await prepare(authenticator, { path: PASSKEYS, jar: new Map(elsewhere) });
    const fields = { form_token: own.form_token, label: "x", passkey };
    expect((await visit(service, elsewhere, PASSKEYS, { fields })).status).toBe(422);
    await service.query(
      `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where user_id = $1`,
      [person.id],
    );
    const sent = await visit(service, jar, PASSKEYS, { fields: { ...fields, form_token } });
    expect(sent.headers.get("location")).toBe("/login?to=%2Faccount%2Fsecurity");
    expect(readAsked(await visit(service, jar, PASSKEYS))).toBeUndefined();
  });

  test("adds max ten passkeys", async () => {
    const { person, jar, authenticator } = await makeHolder(service);
    const other = makeAuthenticator(service.url);
    const { form_token, passkey } = await prepare(other, { path: PASSKEYS, jar });
    await service.query(
      `insert into rowhouse.passkeys (credential_id, user_id, public_key, label, digest, secret_id)
      select decode(lpad(n::text, 4, '0'), 'hex') || uuid_send($1::uuid), $1::uuid, '\\x00', 'filler', decode(repeat('00', 32), 'hex'), 'none'
      from generate_series(1, 9) as n`,
      [person.id],
    );
    const full = await visit(service, jar, PASSKEYS, {
      fields: { form_token, label: "x", passkey },
    });
    expectPage(full, 422, "You already have 10 passkeys");
    expect((await submitPasskey(service, new Map(), { authenticator })).status).toBe(303);
  });
});

describe("a second factor", () => {
  let holder: Holder;
  let waiting: Jar;
  beforeAll(async () => {
    holder = await makeHolder(service);
    waiting = (await passPassword(service, holder.person)).jar;
  });

  // The browser of some security keys sends an empty text.
  test.each([null, ""])(
    "accepts a passkey for the pending sign-in, with or without user verification, and continues to the target, with the person %p",
    async (userHandle) => {
      const { person, authenticator } = holder;
      const { jar } = await passPassword(service, person);
      expect(await isSignedIn(jar, person.email)).toBe(false);
      const path = "/second-factor?to=%2Faccount%2Fsecurity";
      const page = await visit(service, jar, path);
      expect(readAsked(page)).toMatchObject({
        allowCredentials: [{ id: authenticator.credentialId, transports: ["internal", "hybrid"] }],
        userVerification: "preferred",
      });
      const lies = { isVerified: false, userHandle };
      const done = await submitPasskey(service, jar, { authenticator, path, lies });
      expectRedirect(done, "/account/security");
      // After proving both factors, the session can change them.
      expect((await visit(service, jar, PASSKEYS)).text).toContain("Remove");
      expect(await listEvents(service, person.id)).toContain("sign_in");
    },
  );

  test.each([
    ...LIES.filter(
      ({ name }) => !["no user verification", "no person", "an empty person"].includes(name),
    ),
    { name: "a counter that does not increase", count: 0 },
  ])("rejects a passkey with $name", async ({ name: _, ...lies }) => {
    const { person, authenticator } = holder;
    await service.query("update rowhouse.passkeys set sign_count = $2 where user_id = $1::uuid", [
      person.id,
      Object.hasOwn(lies, "count") ? 5 : 0,
    ]);
    const jar = new Map(waiting);
    const act = { authenticator, path: "/second-factor", lies };
    expectPage(await submitPasskey(service, jar, act), 422, "was not accepted");
    expect(await isSignedIn(jar, person.email)).toBe(false);
  });

  test("rejects another person's passkey, and a response for another sign-in", async () => {
    const [one, two] = [await makeHolder(service), await makeHolder(service)];
    const jar: Jar = new Map();
    const { location } = await passPassword(service, one.person, { jar });
    const theirs = await submitPasskey(service, jar, {
      authenticator: two.authenticator,
      path: location,
    });
    expect(theirs.status).toBe(422);
    const { page, passkey } = await prepare(one.authenticator, { path: location, jar });
    const other: Jar = new Map();
    await passPassword(service, one.person, { jar: other });
    other.set(CHALLENGE_COOKIE, jar.get(CHALLENGE_COOKIE) ?? "");
    const own = await visit(service, new Map(other), location);
    const sent = await visit(service, other, location, {
      fields: { form_token: readHidden(own.text)["form_token"] ?? "", passkey },
    });
    expect(sent.status).toBe(422);
    // The first sign-in still waits, once.
    const path = location;
    const [first, second] = [new Map(jar), new Map(jar)];
    expect((await sendPasskey(service, first, { page, path, passkey })).status).toBe(303);
    expect((await sendPasskey(service, second, { page, path, passkey })).status).toBe(400);
  });

  test("an administrator's reset removes passkeys, and an export contains none", async () => {
    const { person, authenticator } = await makeHolder(service);
    const exported = JSON.stringify(await exportUser(service.service, person.email));
    expect(exported).toContain('"label":"laptop"');
    const [row] = await service.query<{ key: string; id: string }>(
      `select encode(public_key, 'hex') as key, encode(credential_id, 'hex') as id from rowhouse.passkeys
      where user_id = $1`,
      [person.id],
    );
    for (const hidden of [row?.key ?? "", row?.id ?? ""])
      expect([hidden.length > 20, exported.includes(hidden)]).toEqual([true, false]);
    await service.query("select rowhouse.reset_second_factor($1, 'test')", [person.email]);
    expect((await submitPasskey(service, new Map(), { authenticator })).status).toBe(422);
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
  });
});

test("a passkey refreshes an administrator's sign-in for a sensitive action", async () => {
  const { person, jar, authenticator } = await makeHolder(service, { consoleRole: "super_admin" });
  await service.query(
    `update rowhouse.sessions set proven_at = now() - interval '1 hour', second_factor_at = now() - interval '1 hour'
    where user_id = $1`,
    [person.id],
  );
  const page = "/console/new-person";
  const path = (await visit(service, jar, page)).headers.get("location") ?? "";
  expect(path).toBe("/console/sign-in?to=%2Fconsole%2Fnew-person");
  expectRedirect(await submitPasskey(service, jar, { authenticator, path }), page);
  expect((await visit(service, jar, page)).status).toBe(200);
});

test("adding and removing a passkey sends an email with its name", async () => {
  await service.query("insert into rowhouse.mail_sender (seen_at) values (now())");
  const { person, jar } = await makeHolder(service);
  const page = await visit(service, jar, PASSKEYS);
  const [, ref = ""] = /name="ref" value="([0-9a-f]+)"/.exec(page.text) ?? [];
  const { form_token = "" } = readHidden(page.text);
  await visit(service, jar, PASSKEYS, { fields: { form_token, act: "remove", ref } });
  const mails = await service.query(
    "select template, details ->> 'label' as label from rowhouse.mails where user_id = $1 and template like 'passkey%' order by id",
    [person.id],
  );
  expect(mails).toEqual([
    { template: "passkey_added", label: "laptop" },
    { template: "passkey_removed", label: "laptop" },
  ]);
});

test("attempts above the limit are rejected before any check", async () => {
  const { authenticator } = await makeHolder(service);
  const jar: Jar = new Map();
  await submitPasskey(service, jar, { authenticator, lies: { isTampered: true } });
  await service.query(
    "update rowhouse.throttle set attempts = 60 where key like 'passkey client %'",
  );
  const { status, headers, text } = await submitPasskey(service, jar, { authenticator });
  expect(status).toBe(429);
  expect(Number(headers.get("retry-after")) > 0).toBe(true);
  expect(textOf({ text })).toMatch(/Too many sign-in attempts\. .* Or use your password\./);
});

test("a throttled password has another way in, for an unknown address too", async () => {
  const email = "nobody@example.org";
  let response = await submitSignIn(service, new Map(), { email });
  for (let count = 0; response.status === 422 && count < 20; count++)
    response = await submitSignIn(service, new Map(), { email });
  expect(response.status).toBe(429);
  expect(textOf(response)).toMatch(/then try again\. Or use a passkey( or a link by email)?\./);
});

test("a passkey of a removed secret does not sign in, and a used passkey moves to the new secret", async () => {
  const { person, authenticator } = await makeHolder(service);
  const NEXT = "another secret of the tests: 32 bytes or more";
  const tryWith = async (...identitySecrets: string[]) => {
    const identity = { publicUrl: service.url, identityUrl: service.url };
    await using other = await openBeside(service, { identitySecrets, identity });
    const { status } = await submitPasskey({ ...service, call: other.call }, new Map(), {
      authenticator,
    });
    return status;
  };
  expect(await tryWith(NEXT)).toBe(422);
  expect(await tryWith(NEXT, TEST_IDENTITY_SECRET)).toBe(303);
  expect(await tryWith(NEXT)).toBe(303);
  expect(await tryWith(TEST_IDENTITY_SECRET)).toBe(422);
  expect(await listEvents(service, person.id)).not.toContain("sign_in_rejected passkey planted");
});

test("pages on an IP address, or without an origin, offer no passkeys", async () => {
  for (const publicUrl of ["http://127.0.0.1:1", "http://intranet.example.org", "https://[::1]"])
    expect(findRelyingParty({ publicUrl, identityUrl: undefined })).toBeUndefined();
  expect(findRelyingParty({ publicUrl: undefined, identityUrl: undefined })).toBeUndefined();
  const page = await visit(service, new Map(), "/login");
  expect(page.headers.get("permissions-policy")).toBe(
    "publickey-credentials-create=(self), publickey-credentials-get=(self)",
  );
  expect((await visit(service, new Map(), "/forgot")).headers.get("permissions-policy")).toBe(
    "publickey-credentials-create=(), publickey-credentials-get=()",
  );
});

test("the server requests no address from an authenticator's certificate", async () => {
  await makeHolder(service);
  const formats = [
    ...["android-key", "android-safetynet", "apple", "fido-u2f", "packed", "tpm"],
  ] as const;
  const roots = formats.flatMap((identifier) =>
    SettingsService.getRootCertificates({ identifier }),
  );
  expect(roots).toEqual([]);
});

test("a new passkey with an invalid or too long id is rejected", async () => {
  const jar = await signInAs(service, await makePerson(service));
  const authenticator = makeAuthenticator(service.url);
  for (const bytes of [1024, 33]) {
    const page = await visit(service, jar, PASSKEYS);
    const lies = { credentialId: Buffer.alloc(bytes, 7).toString("base64url") };
    const made = JSON.parse(authenticator.create(readAsked(page) ?? { challenge: "" }, lies));
    const id = authenticator.credentialId;
    const passkey = JSON.stringify({ ...made, id, rawId: id });
    const response = await sendPasskey(service, jar, { page, path: PASSKEYS, passkey });
    expectPage(response, 422, "could not be verified");
  }
});

test("a program that submits the hidden fields of every form can sign in", async () => {
  const person = await makePerson(service);
  const jar: Jar = new Map();
  const hidden = readHidden((await visit(service, jar, "/login")).text);
  expect(hidden["passkey"]).toBe("");
  const fields = { ...hidden, email: person.email, password: PASSWORD };
  expect((await visit(service, jar, "/login", { fields })).status).toBe(303);
});
