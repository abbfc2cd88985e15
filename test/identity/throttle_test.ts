import { beforeEach, describe, expect, test } from "bun:test";
import type { Hashing } from "../../src/identity/mod.ts";
import { exportUser, makePasswordLink } from "../../src/records/people/mod.ts";
import { SIGN_IN_LIMITS } from "../../src/records/sessions/mod.ts";
import { TEST_HASHING, testDeps } from "../support/deps.ts";
import { openMailService } from "../support/mail_service.ts";
import { expectPage, textOf } from "../support/page_text.ts";
import {
  choosePassword,
  type Jar,
  makePerson,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** The number of passwords that the service has hashed for a comparison. */
let verified: number;
const hashing: Hashing = {
  ...TEST_HASHING,
  verify: (...words) => {
    verified++;
    return TEST_HASHING.verify(...words);
  },
};
const service = await share(openTestService({ service: { hashing } }));
/** Each test begins without attempts: all count for the same client. */
beforeEach(async () => {
  verified = 0;
  await service.service.admin.message("delete from rowhouse.throttle");
});

async function tryWrong(email: string, of = service) {
  const response = await submitSignIn(of, new Map(), { email, password: "not the password" });
  const notice = /Too many sign-in attempts.*? try again\.(?: Or use [^.]+\.)?/.exec(
    textOf(response),
  )?.[0];
  const wait = Number(response.headers.get("retry-after"));
  return { status: response.status, wait, until: readEnd(response.text), notice };
}

/** The end of the wait that a page names. */
function readEnd(page: string): number {
  return Date.parse(/until <time datetime="([^"]+)">/.exec(page)?.[1] ?? "");
}

describe("sign-in attempts", () => {
  test("for one address, known or unknown, end in the same 429 with a wait, regardless of the password", async () => {
    const person = await makePerson(service);
    const notices = new Set<string | undefined>();
    for (const email of [person.email, "nobody@example.org"]) {
      for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
        expect((await tryWrong(email)).status).toBe(422);
      const rejected = await tryWrong(email.toUpperCase());
      expect(rejected.status).toBe(429);
      expect(rejected.wait).toBeGreaterThan(SIGN_IN_LIMITS.windowS - 120);
      expect(rejected.wait).toBeLessThanOrEqual(SIGN_IN_LIMITS.windowS);
      const late = rejected.until - (Date.now() + rejected.wait * 1000);
      expect([late > -10_000, late < 60_000]).toEqual([true, true]);
      notices.add(rejected.notice?.replace(/Please wait .* then/, "then"));
    }
    expect([...notices]).toEqual(["Too many sign-in attempts. then try again."]);
    const right = await submitSignIn(service, new Map(), { email: person.email });
    expectPage(right, 429, "Too many sign-in attempts");
  });

  test("with a wrong password are counted by account in one row, until a correct password", async () => {
    const person = await makePerson(service);
    const counted = async () =>
      (await exportUser({ admin: service.service.admin }, person.email)).failedSignIns;
    expect(await counted()).toEqual([]);
    await tryWrong("nobody@example.org");
    for (const _ of [1, 2, 3]) await tryWrong(person.email);
    expect(await counted()).toEqual([
      { attempts: 3, last_at: expect.any(String), last_from: "127.0.0.1" },
    ]);
    const boss = await makePerson(service, { consoleRole: "admin" });
    const page = await visit(
      service,
      await signInAs(service, boss),
      `/console/people/${person.id}`,
    );
    expect(textOf(page)).toMatch(
      /Wrong passwords 3 since the last correct password, the latest .* from 127\.0\.0\.1/,
    );
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
    expect(await counted()).toEqual([]);
    const audited = await service.query<{ details: unknown }>(
      "select details from rowhouse.audit where user_id = $1::text::uuid and action = 'sign_in_failed'",
      [person.id],
    );
    expect(audited.map(({ details }) => details)).toEqual([{ attempts: 3 }]);
  });

  test("of one client do not block others, and attempts of many clients do", async () => {
    const person = await makePerson(service);
    for (let count = 0; count <= SIGN_IN_LIMITS.pair; count++) await tryWrong(person.email);
    expect((await tryWrong(person.email)).status).toBe(429);
    const fromElsewhere = async (set: string) =>
      await service.query(`update rowhouse.throttle set ${set}`);
    // The same counters for another client, whose pair has no attempts.
    await fromElsewhere("key = key || '1' where key like '% from client %'");
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
    await tryWrong(person.email);
    await fromElsewhere(
      `attempts = ${SIGN_IN_LIMITS.address} where key like 'address %' and key not like '% from %'`,
    );
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(429);
  });

  test("are forgotten when the password is set by a link", async () => {
    const person = await makePerson(service);
    for (let count = 0; count <= SIGN_IN_LIMITS.pair; count++) await tryWrong(person.email);
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(429);
    const { linkText } = await makePasswordLink(testDeps(service.service), person.email);
    const password = "a newer and longer one";
    await choosePassword(service, `/set-password?token=${linkText}`, password);
    const again = { email: person.email, password };
    expect((await submitSignIn(service, new Map(), again)).status).toBe(303);
  });

  test("of one client have one limit for all addresses together", async () => {
    await tryWrong("nobody-1@example.org");
    await service.query("update rowhouse.throttle set attempts = $1 where key like 'client %'", [
      SIGN_IN_LIMITS.client - 1,
    ]);
    expect((await tryWrong("nobody-2@example.org")).status).toBe(422);
    expect((await tryWrong("nobody-3@example.org")).status).toBe(429);
  });

  test("that succeed do not count, and reset the address", async () => {
    const person = await makePerson(service);
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 4; count++) await tryWrong(person.email);
      const jar: Jar = new Map();
      expect((await submitSignIn(service, jar, { email: person.email })).status).toBe(303);
    }
  });

  test("in parallel cannot exceed the limit", async () => {
    const responses = await Promise.all(
      Array.from({ length: SIGN_IN_LIMITS.pair + 8 }, () => tryWrong("nobody@example.org")),
    );
    expect(responses.filter(({ status }) => status === 422)).toHaveLength(SIGN_IN_LIMITS.pair);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(8);
  });

  test("are accepted again when the window has ended", async () => {
    for (let count = 0; count <= SIGN_IN_LIMITS.pair; count++) await tryWrong("nobody@example.org");
    expect((await tryWrong("nobody@example.org")).status).toBe(429);
    await service.query("update rowhouse.throttle set ends_at = now()");
    expect((await tryWrong("nobody@example.org")).status).toBe(422);
  });

  test("past the global limit get stricter limits, but block no one", async () => {
    await tryWrong("nobody@example.org");
    await service.query(
      "update rowhouse.throttle set attempts = $1, ends_at = now() + interval '1 hour' where key = 'all'",
      [SIGN_IN_LIMITS.globalPerMinute],
    );
    const person = await makePerson(service);
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
    const least = Math.floor(SIGN_IN_LIMITS.pair / 4);
    for (let count = 0; count < least; count++)
      expect((await tryWrong("other@example.org")).status).toBe(422);
    expect((await tryWrong("other@example.org")).status).toBe(429);
  });

  test("leave no address in the database, and their counters are deleted after expiry", async () => {
    await tryWrong("typed-into-the-form@example.org");
    const read = async () => {
      const [row] = await service.query<{ text: string; count: number }>(
        "select json_agg(t)::text as text, count(*)::int4 as count from rowhouse.throttle t",
      );
      return row;
    };
    expect((await read())?.text).not.toContain("typed-into-the-form");
    await service.query("update rowhouse.throttle set ends_at = now() - interval '1 hour'");
    await tryWrong("another@example.org");
    expect((await read())?.count).toBe(4);
  });

  test("hash the password once for known and unknown addresses, and never over the limit", async () => {
    await tryWrong((await makePerson(service)).email);
    expect(verified).toBe(1);
    await service.query("delete from rowhouse.throttle");
    verified = 0;
    for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
      expect((await tryWrong("unknown@example.org")).status).toBe(422);
    expect(verified).toBe(SIGN_IN_LIMITS.pair);
    expect((await tryWrong("unknown@example.org")).status).toBe(429);
    expect(verified).toBe(SIGN_IN_LIMITS.pair);
  });

  test("over the limit name the ways in of this service that need not wait", async () => {
    const providers = await Promise.all(
      ["Example ID", "Other ID"].map((label, place) =>
        startProvider({ name: `provider-${place}`, label }),
      ),
    );
    const settings = providers.map((provider) => provider.settings);
    const mailed = await openMailService({ providers: settings });
    const linked = await openTestService({ identity: () => ({ providers: settings.slice(0, 1) }) });
    for (const { of, ways } of [
      { of: service, ways: undefined },
      { of: linked, ways: "Or use Example ID." },
      { of: mailed.service, ways: "Or use Example ID, Other ID, or a link by email." },
    ]) {
      for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
        expect((await tryWrong("unknown@example.org", of)).status).toBe(422);
      const { status, notice } = await tryWrong("unknown@example.org", of);
      expect([status, /Or use.*/.exec(notice ?? "")?.[0]]).toEqual([429, ways]);
    }
    await Promise.all([mailed.close(), linked.close(), ...providers.map(({ stop }) => stop())]);
  });
});
