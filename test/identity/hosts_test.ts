import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DEFAULT_SETTINGS, isOwnOrigin, toVirtualHost } from "../../src/identity/settings.ts";
import { cases } from "../support/cases.ts";
import { openTestService, type TestService } from "../support/service.ts";

const URLS = { publicUrl: "https://api.example.org", identityUrl: "https://id.example.org" };
const NONE = { publicUrl: undefined, identityUrl: undefined };
const ONE = "https://a.example.org";

describe("toVirtualHost() of", () => {
  test.each(cases("host", "want")`
    id.example.org               | identity
    ID.example.org               | identity
    id.example.org:443           | identity
    id.example.org:8443          | gateway
    api.example.org              | gateway
    10.0.0.7:8787                | gateway
    id.example.org, evil.example | gateway
                                 | gateway
  `)("$host is $want", ({ host, want }) => expect(toVirtualHost(host, URLS)).toBe(want as "both"));

  test("no host is the gateway, and without separate hosts any is both", () => {
    expect(toVirtualHost(null, URLS)).toBe("gateway");
    for (const urls of [NONE, { ...NONE, publicUrl: ONE }, { publicUrl: ONE, identityUrl: ONE }])
      expect(toVirtualHost("x", urls)).toBe("both");
  });
});

describe("isOwnOrigin() of", () => {
  test.each(cases("origin", "host", "urls", "want")`
    https://id.example.org   | id.example.org  | two  | true
    http://id.example.org    | id.example.org  | two  | false
    https://api.example.org  | id.example.org  | two  | false
    null                     | id.example.org  | two  | false
                             | id.example.org  | two  | false
    http://127.0.0.1:8787    | 127.0.0.1:8787  | none | true
    https://one.example.org  | one.example.org | none | true
    https://two.example.org  | one.example.org | none | false
    https://one.example.org/ | one.example.org | none | false
  `)("$origin at $host is $want", ({ origin, host, urls, want }) => {
    const headers = { host, ...(origin !== "" && { origin }) };
    const settings = { ...DEFAULT_SETTINGS, ...(urls === "two" ? URLS : NONE) };
    expect(String(isOwnOrigin(new Request("http://x/", { headers }), settings))).toBe(want);
  });
});

describe("with a host for the pages", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ identity: () => ({ ...URLS, cookieDomain: "example.org" }) });
  });
  afterAll(() => service.close());

  test.each(cases("host", "path", "status", "type")`
    id.example.org  | /login            | 200 | text/html; charset=utf-8
    id.example.org  | /                 | 303 |
    id.example.org  | /v1/auth/me       | 404 | text/html; charset=utf-8
    id.example.org  | /v1/data/db/todos | 404 | text/html; charset=utf-8
    id.example.org  | /nowhere          | 404 | text/html; charset=utf-8
    id.example.org  | /live             | 200 | application/json
    api.example.org | /login            | 404 | application/json
    api.example.org | /authorize        | 404 | application/json
    api.example.org | /v1/auth/me       | 401 | application/json
    api.example.org | /v1/auth/nowhere  | 404 | application/json
    10.0.0.7        | /v1/data/db/todos | 401 | application/json
  `)("$host$path returns $status", async ({ host, path, status, type }) => {
    const response = await service.call(undefined, path, {
      headers: { host, "x-forwarded-host": "id.example.org" },
    });
    const found = response.headers.get("content-type") ?? "";
    expect([response.status, found]).toEqual([Number(status), type]);
  });

  test.each([
    { host: "id.example.org", path: "/login" },
    { host: "id.example.org", path: "/nowhere" },
    { host: "api.example.org", path: "/v1/data/db/todos" },
    { host: "api.example.org", path: "/live" },
  ])("$host$path requires https in accordance with its public URL", async ({ host, path }) => {
    const response = await service.call(undefined, path, { headers: { host } });
    expect(response.headers.get("strict-transport-security")).toBe("max-age=31536000");
  });

  test("a method that a page lacks is rejected with a page that lists the allowed methods", async () => {
    const response = await service.call(undefined, "/login", {
      method: "DELETE",
      headers: { host: "id.example.org" },
    });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
    expect(response.text).toContain("<h1>");
  });
});
