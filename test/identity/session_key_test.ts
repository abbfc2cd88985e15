/** The exchange of both cookies for a person's key: who gets one, what it contains, and who cannot get one. */
import { beforeAll, describe, expect, test } from "bun:test";
import { IDENTITY_COOKIE, SESSION_COOKIE, SESSION_KEY_PATH } from "../../src/identity/mod.ts";
import { PERSON_BIT } from "../../src/principal.ts";
import { createApp, setAppSwitch } from "../../src/records/apps/mod.ts";
import { casesBy } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import {
  identityCookie,
  type Jar,
  makePerson,
  readMe,
  sharedCookie,
  signInAs,
} from "../support/people.ts";
import { exchange, getPersonKey, openToBrowsers, proofOf } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const OTHER_ORIGIN = "https://blog.example.org";

const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: { previews: ["browser"] },
  }),
);
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const other = await service.makeApp(undefined, { origins: [OTHER_ORIGIN] });
for (const each of [app, other]) await openToBrowsers(service, each);
const ada = await makePerson(service, { name: "Ada", app, role: "editor" });
const jar = await signInAs(service, ada);
await service.service.warm();

const ask = (more: Partial<Parameters<typeof exchange>[1]> = {}) =>
  exchange(service, { cookies: jar, app, origin: ORIGIN, ...more });

describe("a page of the app", () => {
  test("gets a key of the person, with the person as /v1/auth/me returns them", async () => {
    const response = await ask();
    expect(response.status).toBe(200);
    const me = await readMe(service, jar, app.slug);
    expect(response.json).toEqual({
      key: expect.stringMatching(/^rh_[a-z0-9]{16}\.[0-9A-Za-z]{49}$/),
      expiresInS: expect.any(Number),
      user: me.json,
    });
    expect(me.json).toMatchObject({ id: ada.id, role: "editor" });
    const { expiresInS } = response.json as { expiresInS: number };
    expect(expiresInS).toBeGreaterThan(570);
    expect(expiresInS).toBeLessThanOrEqual(600);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(response.headers.get("access-control-allow-credentials")).toBe("true");
    expect(response.headers.get("set-cookie")).toBeNull();
  });

  test("gets a key whose proof has the person, the role, and no scope", async () => {
    const { key } = await getPersonKey(service, { cookies: jar, app, origin: ORIGIN });
    const [proof] = await service.query(
      `select scopes, person_id::text as id, role from rowhouse.enter_app($1),
        lateral (select * from rowhouse.proofs where app_id = $1 and digest = sha256($2)) as found`,
      [app.id, proofOf(key)],
    );
    expect(proof).toEqual({ scopes: PERSON_BIT, id: ada.id, role: "editor" });
  });

  test("may ask first: the preflight allows its origin, the method and the type", async () => {
    const preflight = (origin: string) =>
      service.call(undefined, `${SESSION_KEY_PATH}?app=${app.slug}`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
        },
      });
    const { headers } = await preflight(ORIGIN);
    expect(headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("access-control-allow-methods")).toBe("POST, OPTIONS");
    expect(headers.get("access-control-allow-headers")).toContain("Content-Type");
    expect(headers.get("access-control-max-age")).toBe("7200");
    for (const origin of [OTHER_ORIGIN, "https://evil.org", "null"]) {
      const { headers: refused } = await preflight(origin);
      expect(refused.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("of an administrator of the Console gets the role admin", async () => {
    const grace = await makePerson(service, { consoleRole: "admin" });
    const cookies = await signInAs(service, grace);
    const { user } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
    expect(user).toMatchObject({ id: grace.id, role: "admin" });
  });
});

type Asked = Partial<Parameters<typeof exchange>[1]>;

describe("no key for", () => {
  let bob: Jar;
  let stranger: Jar;
  beforeAll(async () => {
    bob = await signInAs(service, await makePerson(service, { app, role: "editor" }));
    stranger = await signInAs(service, await makePerson(service));
  });

  const origins = [
    ...["null", "https://wiki.example.org.evil.org", "http://wiki.example.org", "https://evil.org"],
    ...["https://WIKI.example.org", "https://wiki.example.org:444", "https://wiki.example.org/"],
    OTHER_ORIGIN,
  ];
  const types = [
    ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"],
    ...["text/plain; a=application/json", "application/json-seq"],
  ];
  const askAs = (list: string[], toAsked: (value: string) => Asked) =>
    Object.fromEntries(list.map((value) => [value, () => toAsked(value)]));

  test.each(
    casesBy<() => Asked>({
      "403 forbidden": {
        ...askAs(origins, (origin) => ({ origin })),
        "a frame in another site": () => ({ headers: { "sec-fetch-site": "cross-site" } }),
        "an address that someone typed": () => ({ headers: { "sec-fetch-site": "none" } }),
        "a person without a role": () => ({ cookies: stranger }),
        "an unknown app": () => ({ app: { slug: "no-such-app" } }),
        "the app's page with another app, for which the person has a role": () => ({ app: other }),
      },
      "415 unsupported_media_type": askAs(types, (type) => ({ headers: { "content-type": type } })),
      "401 unauthenticated": {
        "no cookies": () => ({ cookies: "" }),
        "a sibling's server, which has only the shared cookie": () => ({
          cookies: sharedCookie(jar),
        }),
        "the cookie of the pages alone": () => ({ cookies: identityCookie(jar) }),
        "a session that a sibling planted instead of the shared cookie": () => ({
          cookies: `${sharedCookie(bob)}; ${identityCookie(jar)}`,
        }),
        "the shared cookie as the cookie of the pages": () => ({
          cookies: `${sharedCookie(jar)}; ${IDENTITY_COOKIE}=${jar.get(SESSION_COOKIE)}`,
        }),
      },
      "400 invalid_request": {
        "a malformed app": () => ({ app: { slug: "A" } }),
        "two apps": () => ({ app: { slug: `${app.slug}&app=${other.slug}` } }),
      },
    }),
  )("$name: $expected", async ({ value: toAsked, expected }) => {
    const asked = toAsked();
    const response = await ask(asked);
    const [status, error] = expected.split(" ");
    expect([response.status, response.json]).toEqual([Number(status), { error }]);
    // Only a page of the app can read the error.
    const isReadable = asked.origin === undefined && asked.app === undefined;
    const readable = response.headers.get("access-control-allow-origin");
    expect(readable).toBe(isReadable ? ORIGIN : null);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("a program without an Origin", async () => {
    const { status } = await service.call(undefined, `${SESSION_KEY_PATH}?app=${app.slug}`, {
      method: "POST",
      headers: { cookie: `${sharedCookie(jar)}; ${identityCookie(jar)}` },
      json: {},
    });
    expect(status).toBe(403);
  });

  test("two live sessions, whose cookies are cleared on every path", async () => {
    const response = await ask({
      cookies: `${sharedCookie(bob)}; ${sharedCookie(jar)}; ${identityCookie(jar)}`,
    });
    expect([response.status, response.json]).toEqual([401, { error: "unauthenticated" }]);
    const cleared = response.headers.getSetCookie();
    expect(cleared.every((line) => line.includes("Max-Age=0"))).toBe(true);
    for (const path of ["/", SESSION_KEY_PATH, "/login"])
      expect(cleared).toContainEqual(
        expect.stringMatching(new RegExp(`^${SESSION_COOKIE}=;.*Path=${path}(;|$)`)),
      );
    expect(cleared).toContainEqual(expect.stringMatching(new RegExp(`^${IDENTITY_COOKIE}=;`)));
  });

  test("a stolen digest of the database instead of a cookie", async () => {
    const [stored] = await service.query<{ id: string; shared: string; own: string }>(
      `select id, encode(session_digest, 'hex') as shared, encode(identity_digest, 'hex') as own
      from rowhouse.sessions where user_id = $1`,
      [ada.id],
    );
    const cookies = `${SESSION_COOKIE}=${stored?.id}.${stored?.shared}; ${IDENTITY_COOKIE}=${stored?.id}.${stored?.own}`;
    expect((await ask({ cookies })).status).toBe(401);
  });

  test("a disabled app, and after it is enabled again the old key stays ended", async () => {
    const origin = "https://closed.example.org";
    const closed = await service.makeApp(undefined, { origins: [origin] });
    await openToBrowsers(service, closed);
    const person = await makePerson(service, { app: closed });
    const cookies = await signInAs(service, person);
    await service.service.warm();
    const { key } = await getPersonKey(service, { cookies, app: closed, origin });
    const alive = () =>
      service.query("select from rowhouse.person_keys where person_id = $1", [person.id]);
    expect(await alive()).toHaveLength(1);
    await setAppSwitch(service.service, closed.slug, ["disabled", true]);
    expect(await alive()).toHaveLength(0);
    const refused = await exchange(service, { cookies, app: closed, origin });
    expect([refused.status, refused.json]).toEqual([404, { error: "unknown_app" }]);
    await setAppSwitch(service.service, closed.slug, ["disabled", false]);
    const { status } = await service.call(undefined, "/v1/data/schema", { key });
    expect(status).toBe(401);
  });

  test("an app whose browser access is off", async () => {
    const origin = "https://off.example.org";
    const off = await service.makeApp(undefined, { origins: [origin] });
    const cookies = await signInAs(service, await makePerson(service, { app: off }));
    await service.service.warm();
    const refused = await exchange(service, { cookies, app: off, origin });
    expect([refused.status, refused.json]).toEqual([403, { error: "forbidden" }]);
  });

  test("a person whose second factor is overdue, if everyone needs one", async () => {
    await using strict = await openTestService({
      identity: () => ({ cookieDomain: "example.org", requireSecondFactor: "all" as const }),
      service: { previews: ["browser"] },
    });
    const needing = await strict.makeApp(undefined, { origins: [ORIGIN] });
    await openToBrowsers(strict, needing);
    const person = await makePerson(strict, { app: needing });
    const cookies = await signInAs(strict, person);
    await strict.service.warm();
    const asked = { cookies, app: needing, origin: ORIGIN };
    await strict.query("update rowhouse.users set factor_asked_at = now() where id = $1", [
      person.id,
    ]);
    expect((await exchange(strict, asked)).status).toBe(200);
    await strict.query(
      "update rowhouse.users set factor_asked_at = now() - interval '1 year' where id = $1",
      [person.id],
    );
    expect((await exchange(strict, asked)).status).toBe(401);
  });
});

test("without the preview, the exchange does not exist", async () => {
  await using plain = await openTestService({ identity: () => ({ cookieDomain: "example.org" }) });
  await createApp(testDeps(plain.service), {
    slug: "wiki",
    origins: [ORIGIN],
    redirects: [],
    cookieDomain: "example.org",
  });
  await plain.service.warm();
  const found = await exchange(plain, { cookies: "", app: { slug: "wiki" }, origin: ORIGIN });
  const unknown = await plain.call(undefined, "/no-such-path?app=wiki", {
    method: "POST",
    headers: { origin: ORIGIN, "content-type": "application/json", "sec-fetch-site": "same-site" },
    body: "{}",
  });
  const comparable = ({ status, text, headers }: typeof found) => ({
    status,
    text: text.replace(/"requestId":"[^"]+"/, ""),
    headers: [...headers].filter(([name]) => name !== "x-request-id" && name !== "date"),
  });
  expect(comparable(found)).toEqual(comparable(unknown));
  expect(found.status).toBe(404);
});
