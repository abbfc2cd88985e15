import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  makePerson,
  PASSWORD,
  readToken,
  sharedCookie,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const ORIGIN = "https://wiki.example.org";

let proxy: PostgresProxy;
let service: TestService;
let app: TestApp;
let jar: Map<string, string>;
let anonymous: Map<string, string>;
let token: string;
beforeAll(async () => {
  proxy = await openPostgresProxy();
  service = await openTestService({ toServingUrl: proxy.toUrl, limitMs: 700 });
  app = await service.makeApp(undefined, { origins: [ORIGIN] });
  const person = await makePerson(service, { app });
  jar = await signInAs(service, person);
  anonymous = new Map();
  token = readToken((await visit(service, anonymous, "/login")).text);
  await service.service.warm();
});
afterAll(async () => {
  await proxy.heal();
  await service.close();
  await proxy.close();
});

test.each([
  { name: "me", method: "GET", path: "/v1/auth/me", cookie: true },
  { name: "me of an app", method: "GET", path: () => `/v1/auth/me?app=${app.slug}`, cookie: true },
  { name: "me of nobody", method: "GET", path: "/v1/auth/me", cookie: false },
  { name: "logout", method: "POST", path: "/v1/auth/logout", cookie: true },
  { name: "logout of nobody", method: "POST", path: "/v1/auth/logout", cookie: false },
])(
  "$name without the database is a readable request_failed and clears nothing",
  async ({ method, path, cookie }) => {
    const call = () =>
      service.call(undefined, typeof path === "string" ? path : path(), {
        method,
        headers: { origin: ORIGIN, ...(cookie ? { cookie: sharedCookie(jar) } : {}) },
      });
    for (const fail of [proxy.freeze, proxy.refuse]) {
      await untilBack();
      fail();
      const answer = await call();
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(answer.text).toBe('{"error":"request_failed"}');
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
      expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
      await proxy.heal();
    }
  },
);

test("the pages without the database say so, keep the cookies and let in afterwards", async () => {
  const headers = { cookie: toCookieHeader(jar) };
  const paths = [
    "/login",
    `/authorize?app=${app.slug}&redirect_uri=${ORIGIN}/`,
    `/set-password?token=${"A".repeat(32)}`,
  ];
  await untilBack();
  proxy.refuse();
  for (const path of paths) {
    const answer = await service.call(undefined, path, { headers });
    expect([503, 504]).toContain(answer.status);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(answer.text).toContain("Back in a moment");
    expect(answer.text).not.toContain("<form");
    expect(answer.headers.get("retry-after")).not.toBeNull();
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

test.each([
  { name: "me", path: () => "/v1/auth/me", method: "GET" },
  { name: "me of an app", path: () => `/v1/auth/me?app=${app.slug}`, method: "GET" },
  { name: "the page of one's apps", path: () => "/login", method: "GET" },
  { name: "logout", path: () => "/v1/auth/logout", method: "POST" },
])("$name is one statement", async ({ path, method }) => {
  await untilBack();
  const count = () => proxy.count("with presented as");
  const all = () => proxy.count("rowhouse.sessions");
  const before = [count(), all()];
  await service.call(undefined, path(), { method, headers: { cookie: toCookieHeader(jar) } });
  expect([count(), all()]).toEqual(before.map((number) => number + 1));
});

/** Waits until the pool has found the database again. */
async function untilBack(): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if ((await service.call(undefined, "/v1/auth/me")).status === 401) return;
    await Bun.sleep(25);
  }
  throw new Error("The service did not find its database again");
}
