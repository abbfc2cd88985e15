import { afterAll, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { cases } from "../support/cases.ts";
import { eventually } from "../support/eventually.ts";
import {
  makePerson,
  PASSWORD,
  readToken,
  sharedCookie,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { countRequested } from "../support/requested.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
/** Well-formed, but without a session. */
const DEAD = `${SESSION_COOKIE}=${"a".repeat(16)}.${"A".repeat(32)}`;

const proxy = await share(openPostgresProxy());
const service = await share(
  openTestService({ toServingUrl: proxy.toUrl, limitMs: 700, service: UNGUARDED }),
);
afterAll(() => proxy.heal());
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const person = await makePerson(service, { app });
const jar = await signInAs(service, person);
const anonymous = new Map();
const token = readToken((await visit(service, anonymous, "/login")).text);
await service.service.warm();
/** Calls that read the database; `cookie` is the live session's if undefined. */
const CALLS: { name: string; method: string; path: () => string; cookie?: string }[] = [
  { name: "me", method: "GET", path: () => "/v1/auth/me" },
  { name: "/me of an app", method: "GET", path: () => `/v1/auth/me?app=${app.slug}` },
  { name: "the people of an app", method: "GET", path: () => `/v1/auth/people?app=${app.slug}` },
  { name: "/me with an expired session", method: "GET", path: () => "/v1/auth/me", cookie: DEAD },
  { name: "logout", method: "POST", path: () => "/v1/auth/logout" },
  { name: "logout without a session", method: "POST", path: () => "/v1/auth/logout", cookie: "" },
];

test.each([
  { name: "does not respond", fail: () => proxy.freeze() },
  { name: "rejects connections", fail: () => proxy.refuse() },
])(
  "while the database $name, each call returns a readable request_failed and clears no cookie",
  async ({ fail }) => {
    await untilBack();
    fail();
    // In parallel, because each call waits for the time limit.
    const responses = await Promise.all(
      CALLS.map(async ({ name, method, path, cookie = sharedCookie(jar) }) => {
        const headers = { origin: ORIGIN, ...(cookie !== "" && { cookie }) };
        const response = await service.call(undefined, path(), { method, headers });
        return {
          ...{ name, isFailed: response.status >= 500, text: response.text },
          cookies: response.headers.getSetCookie(),
          cacheControl: response.headers.get("cache-control"),
          origin: response.headers.get("access-control-allow-origin"),
          credentials: response.headers.get("access-control-allow-credentials"),
        };
      }),
    );
    expect(responses).toEqual(
      CALLS.map(({ name }) => ({
        ...{ name, isFailed: true, text: '{"error":"request_failed"}', cookies: [] },
        ...{ cacheControl: "no-store", origin: ORIGIN, credentials: "true" },
      })),
    );
    await proxy.heal();
  },
);

test.each([
  { name: "no cookie", cookie: undefined },
  { name: "a malformed cookie", cookie: `${SESSION_COOKIE}=x` },
  { name: "seventeen cookies", cookie: () => manyCookies(17) },
])("/me with $name gets 401 without a query, even in an outage", async ({ cookie }) => {
  const headers = {
    origin: ORIGIN,
    ...(cookie === undefined ? {} : { cookie: typeof cookie === "string" ? cookie : cookie() }),
  };
  for (const { query, want } of [
    { query: "", want: [401, '{"error":"unauthenticated"}'] },
    { query: `?app=${app.slug}`, want: [401, '{"error":"unauthenticated"}'] },
    { query: "?app=none-such", want: [401, '{"error":"unauthenticated"}'] },
    { query: "?app=X", want: [400, '{"error":"invalid_request"}'] },
  ]) {
    for (const fail of [() => undefined, proxy.freeze]) {
      await untilBack();
      fail();
      const before = proxy.count("rowhouse.read_me");
      const response = await service.call(undefined, `/v1/auth/me${query}`, { headers });
      expect([response.status, response.text]).toEqual(want as [number, string]);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
      expect(proxy.count("rowhouse.read_me")).toBe(before);
      await proxy.heal();
    }
  }
});

function manyCookies(count: number): string {
  const texts = Array.from(
    { length: count },
    (_, n) => `${String(n).padStart(16, "a")}.${"A".repeat(32)}`,
  );
  return texts.map((text) => `${SESSION_COOKIE}=${text}`).join("; ");
}

test("the pages return an error without the database and keep the cookies, which work again later", async () => {
  const headers = { cookie: toCookieHeader(jar) };
  const paths = [
    "/login",
    `/authorize?app=${app.slug}&redirect_uri=${ORIGIN}/`,
    `/set-password?token=${"a".repeat(16)}.${"A".repeat(32)}`,
  ];
  await untilBack();
  proxy.refuse();
  for (const path of paths) {
    const response = await service.call(undefined, path, { headers });
    expect([503, 504]).toContain(response.status);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(response.text).toContain("Temporarily unavailable");
    expect(response.text).not.toContain("<form");
    expect(response.headers.get("retry-after")).not.toBeNull();
  }
  const posted = await visit(service, anonymous, "/login", {
    fields: { form_token: token, email: "ada@example.org", password: PASSWORD },
  });
  expect([503, 504]).toContain(posted.status);
  expect(posted.headers.getSetCookie()).toEqual([]);
  await proxy.heal();
  await untilBack();
  expect((await service.call(undefined, "/login", { headers })).status).toBe(200);
});

test.each(cases("name", "path", "method", "does")`
  me                          | /v1/auth/me                     | GET  | rowhouse.read_me
  /me of an app               | /v1/auth/me?app=${app.slug}     | GET  | rowhouse.read_me
  the people of an app        | /v1/auth/people?app=${app.slug} | GET  | rowhouse.read_people
  the list of a person's apps | /login                          | GET  | rowhouse.read_page_session
  logout                      | /v1/auth/logout                 | POST | rowhouse.sign_out
`)("$name runs one statement", async ({ path, method, does }) => {
  await untilBack();
  const count = () => proxy.count(does);
  const before = [count(), countRequested(proxy)];
  await service.call(undefined, path, { method, headers: { cookie: toCookieHeader(jar) } });
  expect([count(), countRequested(proxy)]).toEqual(before.map((number) => number + 1));
});

/** Waits until the pool has found the database again. */
async function untilBack(): Promise<void> {
  await eventually(async () => {
    const { status } = await service.call(undefined, "/v1/auth/me", { headers: { cookie: DEAD } });
    return status === 401;
  });
}
