/** Sign-in limits: they bound strangers' attempts from any number of addresses, and do not lock out known devices. */
import { beforeEach, describe, expect, test } from "bun:test";
import { DEVICE_COOKIE } from "../../src/identity/mod.ts";
import { SIGN_IN_LIMITS, sweepThrottle } from "../../src/records/sessions/mod.ts";
import { cases } from "../support/cases.ts";
import {
  type Jar,
  makePerson,
  type Person,
  readToken,
  signInAs,
  submitSignIn,
  type VisitedService,
  visit,
} from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let person: Person;
const service = await share(openTestService({ service: { trustedProxies: ["127.0.0.1"] } }));
beforeEach(async () => {
  await write("delete from rowhouse.throttle");
  person = await makePerson(service);
});

const write = (text: string, parameters: (string | number)[] = []) =>
  service.query<Record<string, unknown>>(text, parameters);
/** Every counter with its position in the table, which a write would change. */
const readCounters = () => write("select ctid::text, * from rowhouse.throttle order by key");

/** The service as called from an address. */
function from(address: string): VisitedService {
  return {
    url: service.url,
    call: (app, path, call) =>
      service.call(app, path, {
        ...call,
        headers: { ...call?.headers, "x-forwarded-for": address },
      }),
  };
}

async function tryWrong(at: VisitedService, email: string, jar: Jar = new Map()): Promise<number> {
  return (await submitSignIn(at, jar, { email, password: "not the password" })).status;
}

/** A known browser that is signed out. */
async function makeKnown(of: Person): Promise<Jar> {
  const jar = await signInAs(service, of);
  const known = jar.get(DEVICE_COOKIE);
  if (known === undefined) throw new Error("The sign-in set no cookie for the device");
  return new Map([[DEVICE_COOKIE, known]]);
}

/** Uses up every counter of an address except the counter of devices. */
async function lockOut(email: string): Promise<void> {
  await tryWrong(service, email);
  await write("update rowhouse.throttle set attempts = 1000000 where key not like 'device %'");
  expect((await submitSignIn(service, new Map(), { email })).status).toBe(429);
}

describe("attempts from an IPv6 network", () => {
  test.each(cases("network", "bound", "like", "other")`
    2001:db8:1:100::/64 | ${SIGN_IN_LIMITS.client}     | 2001:db8:1:100::9  | 2001:db8:1:101::1
    2001:db8:1:100::/56 | ${SIGN_IN_LIMITS.clientOf56} | 2001:db8:1:1ff::1  | 2001:db8:1:200::1
    2001:db8:1::/48     | ${SIGN_IN_LIMITS.clientOf48} | 2001:db8:1:ffff::1 | 2001:db8:2::1
  `)("are also counted by $network", async ({ network, bound, like, other }) => {
    const at = from("2001:db8:1:100::1");
    expect(await tryWrong(at, "nobody@example.org")).toBe(422);
    const digest = new Bun.CryptoHasher("sha256").update(network).digest("hex");
    const set = await write(
      "update rowhouse.throttle set attempts = $1 where key = $2 returning key",
      [Number(bound) - 1, `client ${digest}`],
    );
    expect(set).toHaveLength(1);
    expect(await tryWrong(from(like), "nobody-2@example.org")).toBe(422);
    expect(await tryWrong(from(like), "nobody-3@example.org")).toBe(429);
    expect(await tryWrong(from(other), "nobody-4@example.org")).toBe(422);
  });

  test("do not count if they succeed", async () => {
    const at = from("2001:db8:1:100::1");
    expect((await submitSignIn(at, new Map(), { email: person.email })).status).toBe(303);
    const left = await write("select from rowhouse.throttle where attempts > 0");
    expect(left).toEqual([]);
  });
});

describe("a device with an earlier sign-in", () => {
  test("is identified by a cookie that is not a session", async () => {
    const jar: Jar = new Map();
    const response = await submitSignIn(service, jar, { email: person.email });
    const line = response.headers.getSetCookie().find((one) => one.startsWith(DEVICE_COOKIE));
    expect(line).toMatch(/; Path=\/; Max-Age=34560000; HttpOnly; Secure; SameSite=Lax$/);
    const known: Jar = new Map([[DEVICE_COOKIE, jar.get(DEVICE_COOKIE) ?? ""]]);
    expect((await visit(service, known, "/login")).text).toContain('name="password"');
    const me = await service.call(undefined, "/v1/auth/me", {
      headers: { cookie: `${DEVICE_COOKIE}=${known.get(DEVICE_COOKIE)}` },
    });
    expect(me.status).toBe(401);
  });

  test("can sign in regardless of other people's attempts", async () => {
    const jar = await makeKnown(person);
    await lockOut(person.email);
    const before = await readCounters();
    expect((await submitSignIn(service, jar, { email: person.email })).status).toBe(303);
    // The counters of strangers have not changed, and the device's counter is deleted.
    expect(await readCounters()).toEqual(before);
  });

  test("has ten attempts, counted separately", async () => {
    const [jar, other] = [await makeKnown(person), await makeKnown(person)];
    for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
      expect(await tryWrong(service, person.email, new Map(jar))).toBe(422);
    const rejected = await submitSignIn(service, new Map(jar), { email: person.email });
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers.get("retry-after"))).toBeLessThanOrEqual(SIGN_IN_LIMITS.windowS);
    expect((await submitSignIn(service, other, { email: person.email })).status).toBe(303);
    expect((await submitSignIn(service, new Map(), { email: person.email })).status).toBe(303);
  });

  test("remembers the people who signed in before", async () => {
    const jar = await makeKnown(person);
    const second = await makePerson(service);
    await submitSignIn(service, jar, { email: second.email });
    const shared: Jar = new Map([[DEVICE_COOKIE, jar.get(DEVICE_COOKIE) ?? ""]]);
    for (const { email } of [person, second]) {
      await lockOut(email);
      expect((await submitSignIn(service, new Map(shared), { email })).status).toBe(303);
    }
  });

  test.each([
    {
      name: "with another person's cookie",
      spoil: async () => await makeKnown(await makePerson(service)),
    },
    {
      name: "with a cookie whose person id was replaced",
      spoil: async () => {
        const own = await makePerson(service);
        const text = (await makeKnown(own)).get(DEVICE_COOKIE) ?? "";
        return new Map([[DEVICE_COOKIE, text.replace(own.id, person.id)]]);
      },
    },
    {
      name: "with a cookie without its MAC",
      spoil: async () =>
        new Map([[DEVICE_COOKIE, `${"a".repeat(16)}.${person.id}.${"0".repeat(64)}`]]),
    },
  ])("$name is treated as unknown", async ({ spoil }) => {
    const jar = await spoil();
    await lockOut(person.email);
    expect((await submitSignIn(service, jar, { email: person.email })).status).toBe(429);
  });
});

describe("a rejected attempt", () => {
  test("writes nothing, regardless of the input", async () => {
    await tryWrong(service, "nobody@example.org");
    await write("update rowhouse.throttle set attempts = $1 where key like 'client %'", [
      SIGN_IN_LIMITS.client,
    ]);
    const before = await readCounters();
    const jar: Jar = new Map();
    const token = readToken((await visit(service, jar, "/login")).text);
    const attempt = async (name: string) => {
      const fields = { form_token: token, email: `${name}@example.org`, password: "x" };
      return (await visit(service, new Map(jar), "/login", { fields })).status;
    };
    const statuses = new Set<number>();
    // Few at a time: an attempt that waits 3 s for a connection is a 503.
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 20 }, (_, index) => `x${round}-${index}`);
      for (const status of await Promise.all(names.map(attempt))) statuses.add(status);
    }
    expect(statuses).toEqual(new Set([429]));
    expect(await readCounters()).toEqual(before);
  });

  test("past five times the global limit waits for the next minute, and adds no counter", async () => {
    const jar = await makeKnown(person);
    await tryWrong(service, "nobody@example.org");
    await write("update rowhouse.throttle set attempts = $1 where key = 'all'", [
      SIGN_IN_LIMITS.globalPerMinute * 5,
    ]);
    const before = await readCounters();
    const elsewhere = from("192.0.2.1");
    const rejected = await submitSignIn(elsewhere, new Map(), { email: person.email });
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(await readCounters()).toEqual(before);
    expect((await submitSignIn(elsewhere, jar, { email: person.email })).status).toBe(303);
  });
});

test("expired counters are deleted without an attempt, and other counters remain", async () => {
  await tryWrong(service, "nobody@example.org");
  await write(
    `insert into rowhouse.throttle (key, attempts, ends_at)
    select 'address ' || n, 1, now() - interval '1 minute' from generate_series(1, 1500) as n`,
  );
  expect(await sweepThrottle({ db: service.service.db })).toBe(true);
  expect(await sweepThrottle({ db: service.service.db })).toBe(false);
  expect(await readCounters()).toHaveLength(4);
});
