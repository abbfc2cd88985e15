import { beforeAll, describe, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import {
  giveConsoleRole,
  grantRole,
  removeConsoleRole,
  revokeRole,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import { listAudit } from "../support/lists.ts";
import { type Jar, makePerson, sharedCookie, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const OTHER_ORIGIN = "https://other.example.org";
const FOREIGN = "https://evil.example.com";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const other = await service.makeApp(undefined, { origins: [OTHER_ORIGIN] });
const person = await makePerson(service, { name: "Ada", app, role: "editor" });
const jar = await signInAs(service, person);
await service.service.warm();

function me(cookie: string | undefined, query = "", headers: Record<string, string> = {}) {
  return service.call(undefined, `/v1/auth/me${query}`, {
    headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
  });
}

test("GET /v1/auth/me without an app returns the user without a role", async () => {
  const response = await me(sharedCookie(jar));
  expect(response.status).toBe(200);
  expect(response.json).toEqual({
    id: person.id,
    email: person.email,
    displayName: "Ada",
    avatarUrl: null,
    role: null,
  });
  expect(response.headers.get("cache-control")).toBe("no-store");
});

test("GET /v1/auth/me?app= returns the user with the role on that app", async () => {
  const response = await me(sharedCookie(jar), `?app=${app.slug}`);
  expect(response.json).toMatchObject({ id: person.id, role: "editor" });
});

describe("GET /v1/auth/me rejects", () => {
  const dead = `${SESSION_COOKIE}=aaaaaaaaaaaaaaaa.${"A".repeat(32)}`;
  test.each([
    { name: "other_session", cookie: () => undefined, query: "", want: [401, "unauthenticated"] },
    { name: "an expired session", cookie: () => dead, query: "", want: [401, "unauthenticated"] },
    {
      name: "a missing session before an unknown app",
      cookie: () => undefined,
      query: "?app=no-such-app",
      want: [401, "unauthenticated"],
    },
    {
      name: "an unknown app",
      cookie: () => sharedCookie(jar),
      query: "?app=no-such-app",
      want: [404, "unknown_app"],
    },
    {
      name: "no role",
      cookie: () => sharedCookie(jar),
      query: () => `?app=${other.slug}`,
      want: [403, "forbidden"],
    },
    {
      name: "a repeated app parameter",
      cookie: () => sharedCookie(jar),
      query: () => `?app=${app.slug}&app=${app.slug}`,
      want: [400, "invalid_request"],
    },
    {
      name: "an empty app",
      cookie: () => sharedCookie(jar),
      query: "?app=",
      want: [400, "invalid_request"],
    },
    {
      name: "a malformed app",
      cookie: () => sharedCookie(jar),
      query: "?app=A%20B",
      want: [400, "invalid_request"],
    },
    {
      name: "an app with a null byte",
      cookie: () => sharedCookie(jar),
      query: "?app=todo%00",
      want: [400, "invalid_request"],
    },
  ])("$name with exactly its code", async ({ cookie, query, want }) => {
    const response = await me(cookie(), typeof query === "string" ? query : query());
    expect([response.status, response.text]).toEqual([
      want[0] as number,
      JSON.stringify({ error: want[1] }),
    ]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("vary")).toContain("Origin");
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  test("another method, in the same format", async () => {
    const response = await service.call(undefined, "/v1/auth/me", { method: "PUT" });
    expect([response.status, response.text]).toEqual([405, '{"error":"method_not_allowed"}']);
    expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });
});

describe("the cookie", () => {
  let second: Jar;
  beforeAll(async () => {
    second = await signInAs(service, person);
  });
  const value = (of: Jar) => of.get(SESSION_COOKIE) ?? "";
  const dead = `aaaaaaaaaaaaaaaa.${"A".repeat(32)}`;
  test.each([
    { name: "alone", header: () => sharedCookie(jar), want: 200 },
    { name: "among others", header: () => `a=b; ${sharedCookie(jar)}; c=d`, want: 200 },
    { name: "without a space before it", header: () => `a=b;${sharedCookie(jar)};c=d`, want: 200 },
    { name: "repeated", header: () => `${sharedCookie(jar)}; ${sharedCookie(jar)}`, want: 200 },
    {
      name: "with an expired duplicate before it",
      header: () => `${SESSION_COOKIE}=${dead}; ${sharedCookie(jar)}`,
      want: 200,
    },
    {
      name: "with an expired duplicate after it",
      header: () => `${sharedCookie(jar)}; ${SESSION_COOKIE}=${dead}`,
      want: 200,
    },
    {
      name: "with an empty duplicate",
      header: () => `${SESSION_COOKIE}=; ${sharedCookie(jar)}`,
      want: 200,
    },
    {
      name: "with a malformed duplicate of 8 KB",
      header: () => `${SESSION_COOKIE}=${"x".repeat(8192)}; ${sharedCookie(jar)}`,
      want: 200,
    },
    {
      name: "with its own id and a wrong secret next to it",
      header: () =>
        `${SESSION_COOKIE}=${value(jar).slice(0, 17)}${"B".repeat(32)}; ${sharedCookie(jar)}`,
      want: 200,
    },
    {
      name: "of 8 KB",
      header: () => `${SESSION_COOKIE}=${value(jar)}${"x".repeat(8192)}`,
      want: 401,
    },
    { name: "in quotes", header: () => `${SESSION_COOKIE}="${value(jar)}"`, want: 401 },
    {
      name: "percent-encoded",
      header: () => `${SESSION_COOKIE}=${value(jar).replace(".", "%2e")}`,
      want: 401,
    },
    {
      name: "with a name in another case",
      header: () => `${SESSION_COOKIE.toUpperCase()}=${value(jar)}`,
      want: 401,
    },
    { name: "with a longer name", header: () => `x${SESSION_COOKIE}=${value(jar)}`, want: 401 },
    {
      name: "with a space in its name",
      header: () => `${SESSION_COOKIE} =${value(jar)}`,
      want: 401,
    },
    {
      name: "with another secret",
      header: () => `${SESSION_COOKIE}=${value(jar).slice(0, 17)}${"B".repeat(32)}`,
      want: 401,
    },
    {
      name: "with the secret in another case",
      header: () => `${SESSION_COOKIE}=${value(jar).toUpperCase()}`,
      want: 401,
    },
    { name: "with SQL in it", header: () => `${SESSION_COOKIE}=' or 1=1 --`, want: 401 },
    {
      name: "with commas",
      header: () => `${SESSION_COOKIE}=${value(jar)},${value(second)}`,
      want: 401,
    },
    { name: "with another name", header: () => `rowhouse_session=${value(jar)}`, want: 401 },
    {
      name: "replaced by the pages' cookie",
      header: () => `${SESSION_COOKIE}=${jar.get("__Host-rowhouse_identity")}`,
      want: 401,
    },
    {
      name: "seventeen times",
      header: () =>
        Array.from(
          { length: 17 },
          (_, i) =>
            `${SESSION_COOKIE}=${"a".repeat(14)}${String(i).padStart(2, "0")}.${"A".repeat(32)}`,
        )
          .concat(sharedCookie(jar))
          .join("; "),
      want: 401,
    },
  ])("$name is $want", async ({ header, want }) => {
    const response = await me(header());
    expect(response.status).toBe(want);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  test("of two live sessions is invalid, is cleared on every path, and gets an entry in the audit log", async () => {
    const response = await me(`${sharedCookie(jar)}; ${sharedCookie(second)}`);
    expect([response.status, response.text]).toEqual([401, '{"error":"unauthenticated"}']);
    const cleared = response.headers.getSetCookie();
    for (const path of ["/", "/v1", "/v1/auth", "/v1/auth/me"]) {
      expect(cleared).toContain(
        `${SESSION_COOKIE}=; Domain=example.org; Path=${path}; Max-Age=0; HttpOnly; Secure; SameSite=Lax`,
      );
    }
    const [entry] = await listAudit({ admin: service.service.admin }, 1);
    expect(entry).toMatchObject({
      action: "session_conflict",
      userId: person.id,
      details: { sessions: 2 },
    });
    expect((await me(sharedCookie(jar))).status).toBe(200);
  });

  test("of the same two live sessions gets only one entry per hour in the audit log", async () => {
    const [one, two, three] = [
      await signInAs(service, person),
      await signInAs(service, person),
      await signInAs(service, person),
    ];
    const count = async () =>
      (await listAudit({ admin: service.service.admin }, 1000)).filter(
        ({ action }) => action === "session_conflict",
      ).length;
    const send = (...jars: Jar[]) => me(jars.map(sharedCookie).join("; "));
    const before = await count();

    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? send(one, two) : send(two, one))),
    );
    await visit(service, one, "/login");
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    expect(await count()).toBe(before + 1);

    // Another pair is another entry. After an hour, both are recorded again.
    await send(one, three);
    expect(await count()).toBe(before + 2);
    await service.service.admin.message(
      "update rowhouse.session_conflicts set recorded_at = recorded_at - interval '1 hour'; select 1",
    );
    await send(one, two, three);
    await send(two, one);
    expect(await count()).toBe(before + 3);
  });
});

describe("CORS", () => {
  const readable = { "access-control-allow-credentials": "true" };
  test.each([
    {
      name: "the app's origin",
      origin: ORIGIN,
      query: () => `?app=${app.slug}`,
      may: true,
      status: 200,
    },
    {
      name: "another app's origin",
      origin: OTHER_ORIGIN,
      query: () => `?app=${app.slug}`,
      may: false,
      status: 200,
    },
    {
      name: "any registered origin without an app",
      origin: OTHER_ORIGIN,
      query: () => "",
      may: true,
      status: 200,
    },
    {
      name: "any registered origin for an unknown app",
      origin: ORIGIN,
      query: () => "?app=no-such-app",
      may: true,
      status: 404,
    },
    {
      name: "the origin of an app without a role",
      origin: OTHER_ORIGIN,
      query: () => `?app=${other.slug}`,
      may: true,
      status: 403,
    },
    {
      name: "a registered origin and a malformed app",
      origin: ORIGIN,
      query: () => "?app=",
      may: true,
      status: 400,
    },
    { name: "a foreign origin", origin: FOREIGN, query: () => "", may: false, status: 200 },
    { name: "null", origin: "null", query: () => "", may: false, status: 200 },
    {
      name: "the origin in another case",
      origin: ORIGIN.toUpperCase(),
      query: () => "",
      may: false,
      status: 200,
    },
    {
      name: "a longer origin",
      origin: `${ORIGIN}.evil.example.com`,
      query: () => "",
      may: false,
      status: 200,
    },
    {
      name: "localhost",
      origin: "http://localhost:5173",
      query: () => "",
      may: false,
      status: 200,
    },
  ])("GET /v1/auth/me from $name is allowed: $may", async ({ origin, query, may, status }) => {
    const response = await me(sharedCookie(jar), query(), { origin });
    expect(response.status).toBe(status);
    expect(response.headers.get("vary")).toContain("Origin");
    expect(response.headers.get("access-control-allow-origin")).toBe(may ? origin : null);
    expect(response.headers.get("access-control-allow-credentials")).toBe(
      may ? readable["access-control-allow-credentials"] : null,
    );
  });

  test.each([
    { name: "a registered", origin: ORIGIN },
    { name: "a foreign", origin: FOREIGN },
  ])("the preflight response allows $name origin", async ({ origin }) => {
    const response = await service.call(undefined, "/v1/auth/logout", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect(response.status).toBe(204);
    const isKnown = origin === ORIGIN;
    expect(response.headers.get("access-control-allow-origin")).toBe(isKnown ? origin : null);
    expect(response.headers.get("access-control-allow-credentials")).toBe(isKnown ? "true" : null);
    expect(response.headers.get("access-control-allow-methods")).toBe(
      isKnown ? "POST, OPTIONS" : null,
    );
  });
});

describe("POST /v1/auth/logout", () => {
  const logout = (headers: Record<string, string>) =>
    service.call(undefined, "/v1/auth/logout", { method: "POST", headers });

  test("ends the session, clears the cookie on every path and returns no body", async () => {
    const mine = await signInAs(service, person);
    const response = await logout({ cookie: sharedCookie(mine), origin: ORIGIN });
    expect([response.status, response.text]).toEqual([204, ""]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    const paths = response.headers.getSetCookie().map((line) => /Path=([^;]+)/.exec(line)?.[1]);
    expect(paths).toEqual(expect.arrayContaining(["/", "/v1", "/v1/auth", "/v1/auth/me"]));
    expect((await me(sharedCookie(mine))).status).toBe(401);
    const rows = await service.query("select id from rowhouse.sessions where id = $1", [
      mine.get(SESSION_COOKIE)?.slice(0, 16) ?? "",
    ]);
    expect(rows).toEqual([]);
    const page = await visit(service, mine, "/login");
    expect(page.text).toContain("<h1>Sign in</h1>");
  });

  test.each([
    { name: "without a session", headers: {} },
    {
      name: "with an expired session",
      headers: { cookie: `${SESSION_COOKIE}=aaaaaaaaaaaaaaaa.${"A".repeat(32)}` },
    },
    { name: "with only an API key", headers: { authorization: "Bearer rh_x" } },
  ])("$name gets 204, too", async ({ headers }) => {
    expect((await logout(headers as Record<string, string>)).status).toBe(204);
  });

  test.each([FOREIGN, "null", "http://localhost:5173"])(
    "from %s changes nothing",
    async (origin) => {
      const response = await logout({ cookie: sharedCookie(jar), origin });
      expect([response.status, response.text]).toEqual([403, '{"error":"forbidden"}']);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect((await me(sharedCookie(jar))).status).toBe(200);
    },
  );
});

test("pages of a disabled app can read errors but no person, and sign out", async () => {
  const origin = "https://closed.example.org";
  const closed = await service.makeApp(undefined, { origins: [origin] });
  const cookie = sharedCookie(await signInAs(service, person));
  await setAppSwitch(service.service, closed.slug, ["disabled", true]);
  await service.service.warm();
  const rejected = await me(cookie, `?app=${closed.slug}`, { origin });
  expect([rejected.status, rejected.text]).toEqual([404, '{"error":"unknown_app"}']);
  expect(rejected.headers.get("access-control-allow-origin")).toBe(origin);
  const anonymous = await me("", "", { origin });
  expect([anonymous.status, anonymous.headers.get("access-control-allow-origin")]).toEqual([
    401,
    origin,
  ]);
  const hidden = await me(cookie, "", { origin });
  expect([hidden.status, hidden.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  await setAppSwitch(service.service, closed.slug, ["disabled", false]);
  await service.service.warm();
  const shown = await me(cookie, "", { origin });
  expect([shown.status, shown.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  await setAppSwitch(service.service, closed.slug, ["disabled", true]);
  await service.service.warm();
  const headers = { cookie, origin };
  const response = await service.call(undefined, "/v1/auth/logout", { method: "POST", headers });
  expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([
    204,
    origin,
  ]);
  expect((await me(cookie)).status).toBe(401);
});

describe("POST /v1/auth/logout from another site", () => {
  test.each([
    { site: "cross-site", origin: ORIGIN, want: 403 },
    { site: "cross-site", origin: undefined, want: 403 },
    { site: "same-site", origin: ORIGIN, want: 204 },
    { site: "same-origin", origin: undefined, want: 204 },
    { site: "none", origin: undefined, want: 204 },
  ])("on $site with the origin $origin is $want", async ({ site, origin, want }) => {
    const mine = await signInAs(service, person);
    const response = await service.call(undefined, "/v1/auth/logout", {
      method: "POST",
      headers: {
        cookie: sharedCookie(mine),
        "sec-fetch-site": site,
        ...(origin === undefined ? {} : { origin }),
      },
    });
    expect(response.status).toBe(want);
    expect(response.headers.getSetCookie().length > 0).toBe(want === 204);
    expect((await me(sharedCookie(mine))).status).toBe(want === 204 ? 401 : 200);
  });
});

describe("on the next request", () => {
  const admin = () => ({ admin: service.service.admin });

  test("a granted role opens the app and a revoked role closes it, without a new sign-in", async () => {
    const newcomer = await makePerson(service);
    const mine = await signInAs(service, newcomer);
    const status = async () => (await me(sharedCookie(mine), `?app=${app.slug}`)).status;
    expect(await status()).toBe(403);
    await grantRole(admin(), { email: newcomer.email, slug: app.slug, role: "reader" });
    expect(await status()).toBe(200);
    expect(await revokeRole(admin(), { email: newcomer.email, slug: app.slug })).toBe(true);
    expect(await status()).toBe(403);
    await giveConsoleRole(testDeps(service.service), newcomer.email, "admin");
    expect((await me(sharedCookie(mine), `?app=${app.slug}`)).json).toMatchObject({
      role: "admin",
    });
    expect((await me(sharedCookie(mine))).json).toMatchObject({ role: null });
    await removeConsoleRole(admin(), newcomer.email);
    expect(await status()).toBe(403);
  });

  test("a disabled person is signed out, and remains signed out when enabled again", async () => {
    const someone = await makePerson(service, { app });
    const mine = await signInAs(service, someone);
    await setDisabled(admin(), someone.email, true);
    expect((await me(sharedCookie(mine))).status).toBe(401);
    await setDisabled(admin(), someone.email, false);
    expect((await me(sharedCookie(mine))).status).toBe(401);
  });

  test.each([
    {
      name: "that was idle for too long",
      change: "last_seen_at = now() - interval '24 hours 1 second'",
    },
    {
      name: "past its maximum lifetime, despite activity",
      change: "expires_at = now() - interval '1 second'",
    },
  ])("a session $name is expired", async ({ change }) => {
    const mine = await signInAs(service, person);
    await service.query(`update rowhouse.sessions set ${change} where id = $1`, [
      mine.get(SESSION_COOKIE)?.slice(0, 16) ?? "",
    ]);
    expect((await me(sharedCookie(mine))).status).toBe(401);
  });

  test("a session records its last use at most once a minute", async () => {
    const mine = await signInAs(service, person);
    const id = mine.get(SESSION_COOKIE)?.slice(0, 16) ?? "";
    const seen = async () => {
      const [row] = await service.query<{ ago: number }>(
        "select extract(epoch from now() - last_seen_at)::int4 as ago from rowhouse.sessions where id = $1",
        [id],
      );
      return row?.ago ?? -1;
    };
    const setSeen = (ago: string) =>
      service.query(
        "update rowhouse.sessions set last_seen_at = now() - $2::text::interval where id = $1",
        [id, ago],
      );
    await setSeen("50 seconds");
    await me(sharedCookie(mine));
    expect(await seen()).toBeGreaterThanOrEqual(50);
    await setSeen("90 seconds");
    await me(sharedCookie(mine));
    expect(await seen()).toBeLessThan(50);
  });
});

test("a session that is used remains, even with a short idle limit", async () => {
  const short = await openTestService({ identity: () => ({ sessionIdleS: 60 }) });
  const cookie = sharedCookie(await signInAs(short, await makePerson(short)));
  const uses = [];
  for (let use = 0; use < 2; use++) {
    await short.service.admin.message(
      "update rowhouse.sessions set last_seen_at = last_seen_at - interval '40 seconds'; select 1",
    );
    uses.push((await short.call(undefined, "/v1/auth/me", { headers: { cookie } })).status);
  }
  await short.close();
  expect(uses).toEqual([200, 200]);
});

test("an API key opens no identity endpoint, and a cookie opens no data endpoint", async () => {
  const keyed = await service.call(app, "/v1/auth/me");
  expect(keyed.status).toBe(401);
  const cookied = await service.call(undefined, "/v1/data/db/todos", {
    headers: { cookie: sharedCookie(jar) },
  });
  expect(cookied.status).toBe(401);
});

test("no secret of a session is in the database or in the log", async () => {
  const [, secret = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
  expect(secret).toHaveLength(32);
  expect(service.log.join("\n")).not.toContain(secret);
  const [row] = await service.query<{ text: string }>(
    "select (select json_agg(s)::text from rowhouse.sessions s) || (select json_agg(a)::text from rowhouse.audit a) as text",
  );
  expect(row?.text).not.toContain(secret);
});
