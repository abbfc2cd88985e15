import { describe, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import {
  giveConsoleRole,
  grantRole,
  removeConsoleRole,
  revokeRole,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { listAudit } from "../support/lists.ts";
import { type Jar, makePerson, sharedCookie, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const OTHER_ORIGIN = "https://other.example.org";
const FOREIGN = "https://evil.example.com";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const other = await service.makeApp(undefined, { origins: [OTHER_ORIGIN] });
const person = await makePerson(service, { name: "Ada", app, role: "editor" });
const [jar, second] = [await signInAs(service, person), await signInAs(service, person)];
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
  test.each(cases("name", "cookie", "query", "status", "error")`
    no session                              |                      |                                  | 401 | unauthenticated
    an expired session                      | ${dead}              |                                  | 401 | unauthenticated
    a missing session before an unknown app |                      | ?app=no-such-app                 | 401 | unauthenticated
    an unknown app                          | ${sharedCookie(jar)} | ?app=no-such-app                 | 404 | unknown_app
    no role                                 | ${sharedCookie(jar)} | ?app=${other.slug}               | 403 | forbidden
    a repeated app parameter                | ${sharedCookie(jar)} | ?app=${app.slug}&app=${app.slug} | 400 | invalid_request
    an empty app                            | ${sharedCookie(jar)} | ?app=                            | 400 | invalid_request
    a malformed app                         | ${sharedCookie(jar)} | ?app=A%20B                       | 400 | invalid_request
    an app with a null byte                 | ${sharedCookie(jar)} | ?app=todo%00                     | 400 | invalid_request
  `)("$name with exactly its code", async ({ cookie, query, status, error }) => {
    const response = await me(cookie || undefined, query);
    expect([response.status, response.text]).toEqual([Number(status), JSON.stringify({ error })]);
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
  const value = (of: Jar) => of.get(SESSION_COOKIE) ?? "";
  const dead = `aaaaaaaaaaaaaaaa.${"A".repeat(32)}`;
  const [name, mine, id] = [SESSION_COOKIE, sharedCookie(jar), value(jar)];
  const [forged, long] = [`${id.slice(0, 17)}${"B".repeat(32)}`, "x".repeat(8192)];
  const many = Array.from({ length: 17 }, (_, at) => `${name}=${10 + at}${dead.slice(2)}`);
  test.each(cases("name", "header", "want")`
    alone                                         | ${mine}                                        | 200
    among others                                  | a=b; ${mine}; c=d                              | 200
    without a space before it                     | a=b;${mine};c=d                                | 200
    repeated                                      | ${mine}; ${mine}                               | 200
    with an expired duplicate before it           | ${name}=${dead}; ${mine}                       | 200
    with an expired duplicate after it            | ${mine}; ${name}=${dead}                       | 200
    with an empty duplicate                       | ${name}=; ${mine}                              | 200
    with a malformed duplicate of 8 KB            | ${name}=${long}; ${mine}                       | 200
    with its own id and a wrong secret next to it | ${name}=${forged}; ${mine}                     | 200
    of 8 KB                                       | ${name}=${id}${long}                           | 401
    in quotes                                     | ${name}="${id}"                                | 401
    percent-encoded                               | ${name}=${id.replace(".", "%2e")}              | 401
    with a name in another case                   | ${name.toUpperCase()}=${id}                    | 401
    with a longer name                            | x${name}=${id}                                 | 401
    with a space in its name                      | ${name} =${id}                                 | 401
    with another secret                           | ${name}=${forged}                              | 401
    with the secret in another case               | ${name}=${id.toUpperCase()}                    | 401
    with SQL in it                                | ${name}=' or 1=1 --                            | 401
    with commas                                   | ${name}=${id},${value(second)}                 | 401
    with another name                             | rowhouse_session=${id}                         | 401
    replaced by the pages' cookie                 | ${name}=${jar.get("__Host-rowhouse_identity") ?? ""} | 401
    seventeen times                               | ${[...many, mine].join("; ")}                  | 401
  `)("$name is $want", async ({ header, want }) => {
    const response = await me(header);
    expect(response.status).toBe(Number(want));
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
    const open = () => signInAs(service, person);
    const [one, two, three] = [await open(), await open(), await open()];
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
  test.each(cases("name", "origin", "query", "may", "status")`
    the app's origin                         | ${ORIGIN}                  | ?app=${app.slug}   | true  | 200
    another app's origin                     | ${OTHER_ORIGIN}            | ?app=${app.slug}   | false | 200
    any registered origin without an app     | ${OTHER_ORIGIN}            |                    | true  | 200
    any registered origin for an unknown app | ${ORIGIN}                  | ?app=no-such-app   | true  | 404
    the origin of an app without a role      | ${OTHER_ORIGIN}            | ?app=${other.slug} | true  | 403
    a registered origin and a malformed app  | ${ORIGIN}                  | ?app=              | true  | 400
    a foreign origin                         | ${FOREIGN}                 |                    | false | 200
    null                                     | null                       |                    | false | 200
    the origin in another case               | ${ORIGIN.toUpperCase()}    |                    | false | 200
    a longer origin                          | ${ORIGIN}.evil.example.com |                    | false | 200
    localhost                                | http://localhost:5173      |                    | false | 200
  `)("GET /v1/auth/me from $name is allowed: $may", async ({ origin, query, may, status }) => {
    const response = await me(sharedCookie(jar), query, { origin });
    expect(response.status).toBe(Number(status));
    expect(response.headers.get("vary")).toContain("Origin");
    const isRead = may === "true";
    const allowed = (name: string) => response.headers.get(`access-control-allow-${name}`);
    expect([allowed("origin"), allowed("credentials")]).toEqual(
      isRead ? [origin, "true"] : [null, null],
    );
  });

  test("the preflight response allows a registered origin, and no foreign one", async () => {
    for (const origin of [ORIGIN, FOREIGN]) {
      const { status, headers } = await service.call(undefined, "/v1/auth/logout", {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST" },
      });
      const names = ["origin", "credentials", "methods"];
      const allowed = names.map((name) => headers.get(`access-control-allow-${name}`));
      const want = origin === ORIGIN ? [origin, "true", "POST, OPTIONS"] : [null, null, null];
      expect([origin, status, ...allowed]).toEqual([origin, 204, ...want]);
    }
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
    expect((await visit(service, mine, "/login")).text).toContain("<h1>Sign in</h1>");
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
  const turn = async (isOff: boolean) => {
    await setAppSwitch(service.service, closed.slug, ["disabled", isOff]);
    await service.service.warm();
  };
  const seen = ({ status, headers }: TestResponse) => [
    ...[status, headers.get("access-control-allow-origin")],
  ];
  await turn(true);
  const rejected = await me(cookie, `?app=${closed.slug}`, { origin });
  expect(rejected.text).toBe('{"error":"unknown_app"}');
  expect(seen(rejected)).toEqual([404, origin]);
  expect(seen(await me("", "", { origin }))).toEqual([401, origin]);
  expect(seen(await me(cookie, "", { origin }))).toEqual([200, null]);
  await turn(false);
  expect(seen(await me(cookie, "", { origin }))).toEqual([200, origin]);
  await turn(true);
  const sent = { method: "POST", headers: { cookie, origin } };
  const out = await service.call(undefined, "/v1/auth/logout", sent);
  expect(seen(out)).toEqual([204, origin]);
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
    ["that was idle for too long", "last_seen_at = now() - interval '24 hours 1 second'"],
    ["past its maximum lifetime, despite activity", "expires_at = now() - interval '1 second'"],
  ])("a session %s is expired", async (_, change) => {
    const mine = await signInAs(service, person);
    const id = mine.get(SESSION_COOKIE)?.slice(0, 16) ?? "";
    await service.query(`update rowhouse.sessions set ${change} where id = $1`, [id]);
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

test("no secret of a session is in the database or in the log", async () => {
  const [, secret = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
  expect(secret).toHaveLength(32);
  expect(service.log.join("\n")).not.toContain(secret);
  const [row] = await service.query<{ text: string }>(
    "select (select json_agg(s)::text from rowhouse.sessions s) || (select json_agg(a)::text from rowhouse.audit a) as text",
  );
  expect(row?.text).not.toContain(secret);
});
