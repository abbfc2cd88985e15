/**
 * Write access to the database, or the serving login, does not suffice to sign in as a person.
 * The tests copy rows with an administrator's rights, so that only the secret protects them.
 */
import { beforeEach, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { makePasswordLink } from "../../src/records/people/mod.ts";
import { TEST_HASHING, TEST_IDENTITY_SECRET, testDeps } from "../support/deps.ts";
import {
  type Jar,
  makePerson,
  PASSWORD,
  type Person,
  readMe,
  sharedCookie,
  signInAs,
  submitSignIn,
  type VisitedService,
  visit,
} from "../support/people.ts";
import { openBeside, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const THIEFS_PASSWORD = "nine quiet brass lamps";

let victim: Person;
let thief: Person;
let jar: Jar;
const service = await share(openTestService());
beforeEach(async () => {
  victim = await makePerson(service, { consoleRole: "super_admin" });
  thief = await makePerson(service, { password: THIEFS_PASSWORD });
  jar = new Map();
  await submitSignIn(service, jar, { email: thief.email, password: THIEFS_PASSWORD });
});

const OPTIONS = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
const write = (text: string, parameters: string[] = []) =>
  service.service.admin.query<Record<string, unknown>>(text, parameters, OPTIONS);
const steal = (text: string, parameters: (string | number | null)[] = []) =>
  service.service.db.query<Record<string, unknown>>(text, parameters, OPTIONS);
const me = async (of: Jar) => (await readMe(service, of)).status;
const signsIn = async (email: string, password = PASSWORD) =>
  (await submitSignIn(service, new Map(), { email, password })).status;

describe("a value that was moved in the database is invalid:", () => {
  test("a session, also on the pages", async () => {
    expect(await me(jar)).toBe(200);
    await write(
      "update rowhouse.sessions set user_id = $1::text::uuid where user_id = $2::text::uuid",
      [victim.id, thief.id],
    );
    expect(await me(jar)).toBe(401);
    const page = await visit(service, jar, "/login");
    expect(page.text).toContain('name="password"');
    expect(page.text).not.toContain(victim.email);
  });

  test("a session, without a conflict with a live session", async () => {
    const own = await signInAs(service, victim);
    await write(
      "update rowhouse.sessions set user_id = $1::text::uuid where user_id = $2::text::uuid",
      [victim.id, thief.id],
    );
    const response = await service.call(undefined, "/v1/auth/me", {
      headers: { cookie: `${sharedCookie(jar)}; ${sharedCookie(own)}` },
    });
    expect(response.json).toMatchObject({ id: victim.id });
  });

  test("swapped digests of a session", async () => {
    await write(
      "update rowhouse.sessions set session_digest = identity_digest where user_id = $1::text::uuid",
      [thief.id],
    );
    expect(await me(jar)).toBe(401);
  });

  test("a password", async () => {
    await write(
      `update rowhouse.users set password_hash = own.password_hash, password_digest = own.password_digest
      from rowhouse.users as own where own.id = $2::text::uuid and users.id = $1::text::uuid`,
      [victim.id, thief.id],
    );
    expect(await signsIn(victim.email, THIEFS_PASSWORD)).toBe(422);
    expect(await signsIn(thief.email, THIEFS_PASSWORD)).toBe(303);
  });

  test.each([
    { name: "another person's id", set: "user_id = $1::text::uuid", isOther: true },
    { name: "a later expiry", set: "expires_at = expires_at + interval '1 year'", isOther: false },
  ])("a link with $name", async ({ set, isOther }) => {
    const { linkText } = await makePasswordLink(testDeps(service.service), thief.email);
    const path = `/set-password?token=${linkText}`;
    expect((await visit(service, new Map(), path)).status).toBe(200);
    await write(
      `update rowhouse.password_links set ${set} where user_id = $${isOther ? 2 : 1}::text::uuid`,
      isOther ? [victim.id, thief.id] : [thief.id],
    );
    expect((await visit(service, new Map(), path)).status).toBe(404);
  });
});

describe("the serving login", () => {
  const FINISH = `select rowhouse.finish_sign_in($1::text::uuid, decode($2, 'hex'), $3, decode($4, 'hex'), 'secret', '',
    'aaaaaaaaaaaaaaaa', decode($4, 'hex'), decode($4, 'hex'), 'secret', 600, array['client'], null, '', '', 'bbbbbbbbbbbbbbbb', decode($4, 'hex'), 'none') <> 'wrong' as is_done`;
  const zeros = "00".repeat(32);

  test("can read a password's hash, but cannot sign in with it or replace it", async () => {
    const [row] = await steal(
      "select password_hash from rowhouse.begin_sign_in($1, array['x'], 'x', null, '', 10, array[60], 600, 900)",
      [victim.email],
    );
    const hash = String(row?.["password_hash"]);
    expect(hash).toStartWith("$argon2id$");
    const digestOf = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
    for (const shown of [zeros, "", digestOf(hash), Buffer.from(hash).toString("hex")])
      for (const fresh of [null, "$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$YWFhYWFhYWE"])
        expect(await steal(FINISH, [victim.id, shown, fresh, zeros])).toEqual([{ is_done: false }]);
    await write("delete from rowhouse.throttle");
    expect(await signsIn(victim.email)).toBe(303);
    expect(await steal("select from rowhouse.sessions where id = 'aaaaaaaaaaaaaaaa'")).toEqual([]);
  });

  test("can read a link's digest, but cannot use the link", async () => {
    const { linkText } = await makePasswordLink(testDeps(service.service), victim.email);
    const [row] = await steal(
      "select id, encode(digest, 'hex') as digest from rowhouse.password_links where user_id = $1::text::uuid",
      [victim.id],
    );
    for (const shown of [String(row?.["digest"]), zeros])
      expect(
        await steal(
          "select rowhouse.use_password_link($1, decode($2, 'hex'), 'hash', decode($2, 'hex'), 'x') as is_done",
          [String(row?.["id"]), shown],
        ),
      ).toEqual([{ is_done: false }]);
    expect(await signsIn(victim.email)).toBe(303);
    expect((await visit(service, new Map(), `/set-password?token=${linkText}`)).status).toBe(200);
  });

  test("can read digests of sessions, but cannot create a cookie from them", async () => {
    await signInAs(service, victim);
    const [row] = await steal(
      "select id, encode(session_digest, 'hex') as digest from rowhouse.sessions where user_id = $1::text::uuid",
      [victim.id],
    );
    const made: Jar = new Map(jar);
    for (const secret of [String(row?.["digest"]), String(row?.["digest"]).slice(0, 32)]) {
      made.set("__Secure-rowhouse_session", `${row?.["id"]}.${secret}`);
      expect(await me(made)).toBe(401);
    }
  });
});

describe("a new secret", () => {
  const NEXT = "another secret of the tests: 32 bytes or more";
  const open = (hashing: typeof TEST_HASHING, ...identitySecrets: string[]) =>
    openBeside(service, { hashing, identitySecrets });
  const askMe = async (over: VisitedService) => (await readMe(over, jar)).status;
  const signIn = async (over: VisitedService, email: string) =>
    (await submitSignIn(over, new Map(), { email, password: THIEFS_PASSWORD })).status;
  const secretIdOf = async (id: string) => {
    const read = "select password_secret_id as id from rowhouse.users where id = $1::text::uuid";
    return (await write(read, [id]))[0]?.["id"];
  };

  test("renews passwords on sign-in, and requires both secrets until then", async () => {
    await using both = await open(TEST_HASHING, NEXT, TEST_IDENTITY_SECRET);
    await using alone = await open(TEST_HASHING, NEXT);
    expect([await askMe(both), await askMe(alone)]).toEqual([200, 401]);
    expect(await signIn(alone, thief.email)).toBe(422);
    const before = await secretIdOf(thief.id);
    expect(await signIn(both, thief.email)).toBe(303);
    expect(await secretIdOf(thief.id)).not.toBe(before);
    expect(await signIn(alone, thief.email)).toBe(303);
  });

  test("two sign-ins of one person at the same time both succeed while the hash is renewed", async () => {
    const { promise: bothRead, resolve } = Promise.withResolvers<void>();
    let reads = 0;
    const hashing: typeof TEST_HASHING = {
      ...TEST_HASHING,
      verify: async (...values) => {
        reads++;
        if (reads === 2) resolve();
        await bothRead;
        return await TEST_HASHING.verify(...values);
      },
    };
    await using both = await open(hashing, NEXT, TEST_IDENTITY_SECRET);
    const statuses = await Promise.all([signIn(both, thief.email), signIn(both, thief.email)]);
    expect([statuses, reads]).toEqual([[303, 303], 3]);
  });
});
