import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openTestHouse, type TestApp, type TestHouse } from "../support/house.ts";
import {
  makePerson,
  PASSWORD,
  readToken,
  sharedCookie,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openProxy, type TestProxy } from "../support/proxy.ts";

const ORIGIN = "https://wiki.example.org";

let proxy: TestProxy;
let house: TestHouse;
let app: TestApp;
let jar: Map<string, string>;
let anonymous: Map<string, string>;
let token: string;
beforeAll(async () => {
  proxy = await openProxy();
  house = await openTestHouse({ toServingUrl: proxy.toUrl, limitMs: 700 });
  app = await house.makeApp(undefined, { origins: [ORIGIN] });
  const person = await makePerson(house, { app });
  jar = await signInAs(house, person);
  anonymous = new Map();
  token = readToken((await visit(house, anonymous, "/login")).text);
  await house.house.warm();
});
beforeEach(() => proxy.heal());
afterAll(async () => {
  proxy.heal();
  await house.close();
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
      house.call(undefined, typeof path === "string" ? path : path(), {
        method,
        headers: { origin: ORIGIN, ...(cookie ? { cookie: sharedCookie(jar) } : {}) },
      });
    for (const fail of [proxy.cut, proxy.freeze]) {
      fail();
      const answer = await call();
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(answer.text).toBe('{"error":"request_failed"}');
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
      expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
      proxy.heal();
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
  proxy.cut();
  for (const path of paths) {
    const answer = await house.call(undefined, path, { headers });
    expect([503, 504]).toContain(answer.status);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(answer.text).toContain("Back in a moment");
    expect(answer.text).not.toContain("<form");
    expect(answer.headers.get("retry-after")).not.toBeNull();
  }
  const posted = await visit(house, anonymous, "/login", {
    fields: { form_token: token, email: "ada@example.org", password: PASSWORD },
  });
  expect([503, 504]).toContain(posted.status);
  expect(posted.headers.getSetCookie()).toEqual([]);
  proxy.heal();
  let status = 0;
  for (let tries = 0; tries < 100 && status !== 200; tries++) {
    status = (await house.call(undefined, "/login", { headers })).status;
    if (status !== 200) await Bun.sleep(50);
  }
  expect(status).toBe(200);
});
