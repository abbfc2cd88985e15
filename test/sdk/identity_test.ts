import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { readRedirectUri } from "../../src/identity/authorize_query.ts";
import { readTarget } from "../../src/records/apps/mod.ts";
import { createAppClient } from "../../src/sdk/app.ts";
import { createIdentityClient, IdentityError, type SessionState } from "../../src/sdk/identity.ts";
import { createServerClient } from "../../src/sdk/server.ts";
import { cases, casesBy } from "../support/cases.ts";

const PAGE = "https://wiki.example.org/pages/1?edit=yes#title";
const ADA = {
  id: "0197",
  email: "ada@example.org",
  displayName: "Ada",
  avatarUrl: null,
  role: null,
} as const;
const EDITOR = { ...ADA, role: "editor" } as const;

/** The requests that the network stub received, and the page's destination. */
let asked: { url: string; init: RequestInit | undefined }[];
let went: string[];
let responses: (Response | Error)[];
const realFetch = globalThis.fetch;

beforeEach(() => {
  [asked, went, responses] = [[], [], []];
  globalThis.fetch = ((url: string, init?: RequestInit) => {
    asked.push({ url, init });
    const response = responses.shift();
    if (response === undefined) throw new Error(`Nobody expected a request to ${url}`);
    return response instanceof Error ? Promise.reject(response) : Promise.resolve(response);
  }) as typeof fetch;
  Reflect.set(globalThis, "location", { href: PAGE, assign: (url: string) => went.push(url) });
});
afterEach(() => {
  globalThis.fetch = realFetch;
  Reflect.deleteProperty(globalThis, "location");
});

function client() {
  return createIdentityClient({
    url: "https://api.example.org/",
    identityUrl: "https://id.example.org/",
    app: "wiki",
  });
}

const ok = (user: object) => Response.json(user);
const no = (status: number, error: string) => Response.json({ error }, { status });
const paths = () => asked.map(({ url }) => url.replace("https://api.example.org", ""));

/** Returns whether a promise is still pending after all queued work. */
async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  const later = Bun.sleep(20).then(() => open);
  return (await Promise.race([promise, later])) === open;
}

test("methods that need a page throw a clear error outside a browser", async () => {
  Reflect.deleteProperty(globalThis, "location");
  expect(() => client().loginUrl()).toThrow("pass a redirectUri outside a browser");
  expect(() => client().login()).toThrow(TypeError);
  responses = [ok({})];
  await expect(client().logout("/x")).rejects.toThrow("Cannot redirect to /x outside a browser");
  expect(client().loginUrl("https://wiki.example.org/")).toStartWith("https://id.example.org/");
});

test.each(
  ["url", "identityUrl"].flatMap((setting) =>
    ["a.b", "https://a?b=c", "https://a/#b", "https://a:b@c", "https://", "https://a:99999"].map(
      (value) => ({ setting, value }),
    ),
  ),
)("$value as $setting is rejected when a client is created", ({ setting, value }) => {
  const options = { url: "https://a", identityUrl: "https://b", app: "wiki", [setting]: value };
  for (const create of [createIdentityClient, createAppClient, createServerClient])
    if (create !== createServerClient || setting === "url")
      expect(() => create(options)).toThrow(`Cannot use this ${setting}: `);
});

test("the service can be below a path", async () => {
  const below = createIdentityClient({
    ...{ url: "https://a/base/", identityUrl: "https://b/pages", app: "wiki" },
  });
  responses = [ok(ADA)];
  await below.getSession();
  expect(asked[0]?.url).toStartWith("https://a/base/v1/auth/me");
  expect(below.loginUrl("https://wiki.example.org/")).toStartWith("https://b/pages/authorize?");
});

test("createIdentityClient() reads nothing and sends no request", () => {
  Object.defineProperty(globalThis, "location", {
    configurable: true,
    get: () => {
      throw new Error("location was read");
    },
  });
  expect(Object.keys(client()).sort()).toEqual(
    [
      ...["getSession", "getUser", "hasAccess", "isAuthenticated", "listPeople", "login"],
      ...["loginUrl", "logout", "requireUser"],
    ].sort(),
  );
  expect(asked).toEqual([]);
});

describe("getUser()", () => {
  test("sends the credentials without an app, and returns the user", async () => {
    responses = [ok(ADA)];
    expect(await client().getUser()).toEqual(ADA);
    expect(paths()).toEqual(["/v1/auth/me"]);
    expect(asked[0]?.init).toMatchObject({ credentials: "include" });
  });

  test.each([401, 403])("returns null for %d", async (status) => {
    responses = [no(status, "x")];
    expect(await client().getUser()).toBeNull();
  });
});

describe("listPeople()", () => {
  const BOB = { id: "0198", displayName: null, avatarUrl: null, role: "viewer" };

  test("requests each page with credentials", async () => {
    responses = [ok({ people: [BOB], next: "0198" }), ok({ people: [], next: null })];
    expect(await client().listPeople()).toEqual([BOB]);
    expect(paths()).toEqual(["/v1/auth/people?app=wiki", "/v1/auth/people?app=wiki&after=0198"]);
    expect(asked[0]?.init).toMatchObject({ credentials: "include" });
  });

  test.each([
    { name: "no role", given: () => no(403, "forbidden"), status: 403, code: "forbidden" },
    { name: "a malformed page", given: () => ok({}), status: 200, code: "request_failed" },
  ])("throws an IdentityError for $name", async ({ given, status, code }) => {
    responses = [given()];
    await expect(client().listPeople()).rejects.toMatchObject({ status, code });
  });
});

describe("getSession()", () => {
  const FORBIDDEN = () => [no(403, "forbidden"), ok(ADA)];
  test.each<[string, () => Response[], SessionState]>([
    ["200", () => [ok(EDITOR)], { status: "authenticated", user: EDITOR }],
    ["403", FORBIDDEN, { status: "forbidden", user: ADA }],
    ["401", () => [no(401, "unauthenticated")], { status: "unauthenticated" }],
    [
      "403, then 401",
      () => [no(403, "forbidden"), no(401, "unauthenticated")],
      { status: "unauthenticated" },
    ],
  ])("returns the expected session for %s", async (name, given, want) => {
    responses = given();
    const session = await client().getSession();
    expect(session).toEqual(want);
    expect("user" in session).toBe("user" in want);
    const calls = ["/v1/auth/me?app=wiki", "/v1/auth/me"];
    expect(paths()).toEqual(name.startsWith("403") ? calls : calls.slice(0, 1));
  });

  test("throws if the second call fails", async () => {
    responses = [no(403, "forbidden"), no(503, "request_failed")];
    await expect(client().getSession()).rejects.toMatchObject({ status: 503 });
  });

  test("encodes the app in the query", async () => {
    responses = [ok(EDITOR)];
    const urls = { url: "https://a", identityUrl: "https://b" };
    await createIdentityClient({ ...urls, app: "a&b=c" }).getSession();
    expect(asked[0]?.url).toBe("https://a/v1/auth/me?app=a%26b%3Dc");
  });
});

describe("any other response is an IdentityError, and never a sign-out:", () => {
  const rows = cases("name", "status", "body", "code")`
    unknown app              | 404 | {"error":"unknown_app"}     | unknown_app
    server error             | 500 | {"error":"request_failed"}  | request_failed
    unavailable              | 503 | {"error":"request_failed"}  | request_failed
    bad request              | 400 | {"error":"invalid_request"} | invalid_request
    too many requests        | 429 | {"error":"rate_limited"}    | rate_limited
    a proxy's HTML page      | 502 | <h1>Bad gateway</h1>        | request_failed
    an empty body            | 500 |                             | request_failed
    malformed JSON           | 500 | null                        | request_failed
    a code that is not a text | 500 | {"error":7}                | request_failed
    a success without a user | 200 | <html>                      | request_failed
    204                      | 204 |                             | request_failed
  `;
  const methods = ["getUser", "getSession", "isAuthenticated", "hasAccess", "requireUser"] as const;
  test.each(rows.flatMap((row) => methods.map((method) => ({ ...row, method }))))(
    "$name at $method()",
    async ({ body, code, method, ...row }) => {
      const status = Number(row.status);
      responses = [new Response(body || null, { status })];
      const failure: unknown = await client()
        [method]()
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      expect(failure).toBeInstanceOf(IdentityError);
      expect(failure).toBeInstanceOf(Error);
      expect(failure).toMatchObject({ name: "IdentityError", status, code });
      expect(went).toEqual([]);
    },
  );

  test.each(methods)("%s() passes on a network failure", async (method) => {
    const broken = new TypeError("Failed to fetch");
    responses = [broken];
    await expect(client()[method]()).rejects.toBe(broken);
    expect(went).toEqual([]);
  });
});

test.each([
  { given: () => ok(ADA), want: true },
  { given: () => no(401, "unauthenticated"), want: false },
])("isAuthenticated() ignores the app: $want", async ({ given, want }) => {
  responses = [given()];
  expect(await client().isAuthenticated()).toBe(want);
  expect(paths()).toEqual(["/v1/auth/me"]);
});

test.each(
  casesBy<[role: string | undefined, ...responses: (() => Response)[]]>({
    true: {
      "a signed-in user with a role": [undefined, () => ok(EDITOR)],
      "the required role": ["editor", () => ok(EDITOR)],
    },
    false: {
      "another role": ["admin", () => ok(EDITOR)],
      "the role in another case": ["Editor", () => ok(EDITOR)],
      "an empty role": ["", () => ok(EDITOR)],
      forbidden: [undefined, () => no(403, "forbidden"), () => ok(ADA)],
      unauthenticated: [undefined, () => no(401, "unauthenticated")],
    },
  }),
)("hasAccess() with $name is $expected", async ({ value: [role, ...given], expected }) => {
  responses = given.map((respond) => respond());
  expect(String(await client().hasAccess(role))).toBe(expected);
});

describe("requireUser()", () => {
  test("returns a user who can use the app", async () => {
    responses = [ok(EDITOR)];
    expect(await client().requireUser()).toEqual(EDITOR);
  });

  test.each([undefined, "https://wiki.example.org/start"])(
    "redirects a person without a session to return to redirectUri %s, and stays pending",
    async (redirectUri) => {
      responses = [no(401, "unauthenticated")];
      expect(await isOpen(client().requireUser({ redirectUri }))).toBe(true);
      const back = encodeURIComponent(redirectUri ?? PAGE);
      expect(went).toEqual([`https://id.example.org/authorize?app=wiki&redirect_uri=${back}`]);
    },
  );

  test("passes a forbidden user to onForbidden, and stays pending", async () => {
    responses = [no(403, "forbidden"), ok(ADA)];
    const seen: unknown[] = [];
    const promise = client().requireUser({ onForbidden: (user) => seen.push(user) });
    expect(await isOpen(promise)).toBe(true);
    expect({ seen, went }).toEqual({ seen: [ADA], went: [] });
  });

  test("throws 403 forbidden without onForbidden", async () => {
    responses = [no(403, "forbidden"), ok(ADA)];
    await expect(client().requireUser()).rejects.toMatchObject({ status: 403, code: "forbidden" });
    expect(went).toEqual([]);
  });

  test("passes on the error of onForbidden", async () => {
    responses = [no(403, "forbidden"), ok(ADA)];
    const onForbidden = () => {
      throw new Error("broken");
    };
    await expect(client().requireUser({ onForbidden })).rejects.toThrow("broken");
  });
});

describe("loginUrl()", () => {
  const SITE = "https://wiki.example.org/";
  test.each(cases("redirectUri", "back")`
                         | ${PAGE}
    ${SITE}a b&c=d       | ${SITE}a b&c=d
    ${SITE}?a={b}\u007c\`^ | ${SITE}?a=%7Bb%7D%7C%60%5E
    ${SITE}?a=b\\c#/d\\e | ${SITE}?a=b%5Cc#/d%5Ce
    ${SITE}a%2Fb         | ${SITE}a%2Fb
  `)("returns the sign-in page for $redirectUri", ({ redirectUri, back }) => {
    const url = new URL(client().loginUrl(redirectUri || undefined));
    expect(url.origin + url.pathname).toBe("https://id.example.org/authorize");
    expect(Object.fromEntries(url.searchParams)).toEqual({ app: "wiki", redirect_uri: back });
    expect([asked, went]).toEqual([[], []]);
  });

  test.each(cases("name", "path", "back")`
    with an escaped slash        | /a%2Fb                   | /
    with an escaped percent sign | /100%25                  | /
    with an empty first segment  | //a                      | /
    with an empty segment        | /a//b?c                  | /
    of 2,049 characters          | /?${"a".repeat(2023)}    | /
    too long when escaped        | /?${"|".repeat(700)}     | /
    of 2,048 characters          | /?${"a".repeat(2022)}    |
    with these in its query      | /?a=%2F//%25             |
    with these in its fragment   | /#//%5C                  |
    with other escapes           | /a%20b/                  |
  `)("returns to $back from a page $name, and the service accepts it", ({ path, back: target }) => {
    const back = target || path;
    const origin = "https://wiki.example.org";
    const targets = [readTarget("origin", origin, "example.org")];
    Reflect.set(globalThis, "location", { href: origin + path });
    const sent = new URL(client().loginUrl()).searchParams.get("redirect_uri") ?? "";
    expect(sent).toBe(origin + back);
    expect(readRedirectUri(sent, targets)).toBe(sent);
    expect(readRedirectUri(origin + path, targets)).toBe(back === path ? sent : undefined);
  });

  test("is the target of login()", () => {
    client().login();
    client().login("https://wiki.example.org/x");
    expect(went).toEqual([client().loginUrl(), client().loginUrl("https://wiki.example.org/x")]);
  });
});

describe("logout()", () => {
  test.each([
    { name: "204", given: () => new Response(null, { status: 204 }) },
    { name: "403", given: () => no(403, "forbidden") },
    { name: "503", given: () => no(503, "request_failed") },
    { name: "a network failure", given: () => new TypeError("Failed to fetch") },
  ])("sends the request, then opens the sign-in page with $name", async ({ given }) => {
    responses = [given()];
    await client().logout();
    expect(paths()).toEqual(["/v1/auth/logout"]);
    expect(asked[0]?.init).toMatchObject({ method: "POST", credentials: "include" });
    expect(went).toEqual(["https://id.example.org/login"]);
  });

  test("opens the given page", async () => {
    responses = [new Response(null, { status: 204 })];
    await client().logout("https://wiki.example.org/bye");
    expect(went).toEqual(["https://wiki.example.org/bye"]);
  });

  test("opens the page even if fetch itself throws", async () => {
    await client().logout();
    expect(went).toEqual(["https://id.example.org/login"]);
  });
});

test("methods can be destructured", async () => {
  const { getSession, hasAccess } = client();
  responses = [ok(EDITOR), ok(EDITOR)];
  expect([(await getSession()).status, await hasAccess("editor")]).toEqual(["authenticated", true]);
});

test("the identity client is three files and under 2 KB for a browser", async () => {
  const built = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../src/sdk/identity.ts`],
    target: "browser",
    minify: true,
    metafile: true,
  });
  const text = (await built.outputs[0]?.text()) ?? "";
  const { byteLength } = Bun.gzipSync(text);
  console.log(`rowhouse/identity: ${text.length} bytes minified, ${byteLength} with gzip`);
  expect(text).toContain("/v1/auth/me");
  expect(byteLength).toBeLessThan(2048);
  const files = Object.keys(built.metafile?.inputs ?? {}).map((path) => basename(path));
  expect(files.toSorted()).toEqual(["identity.ts", "identity_client.ts", "service_url.ts"]);
  expect(text).not.toMatch(/\b(Bun|process|Deno|Buffer|require|document|localStorage|cookie)\b/);
});
