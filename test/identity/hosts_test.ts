import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DEFAULT_SETTINGS, isOwnOrigin, toVirtualHost } from "../../src/identity/settings.ts";
import { openTestService, type TestService } from "../support/service.ts";

const URLS = { publicUrl: "https://api.example.org", identityUrl: "https://id.example.org" };

describe("toVirtualHost() of", () => {
  test.each([
    { host: "id.example.org", urls: URLS, want: "identity" },
    { host: "ID.example.org", urls: URLS, want: "identity" },
    { host: "id.example.org:443", urls: URLS, want: "identity" },
    { host: "id.example.org:8443", urls: URLS, want: "gateway" },
    { host: "api.example.org", urls: URLS, want: "gateway" },
    { host: "10.0.0.7:8787", urls: URLS, want: "gateway" },
    { host: "id.example.org, evil.example", urls: URLS, want: "gateway" },
    { host: "", urls: URLS, want: "gateway" },
    { host: null, urls: URLS, want: "gateway" },
    { host: "x", urls: { publicUrl: undefined, identityUrl: undefined }, want: "both" },
    {
      host: "x",
      urls: { publicUrl: "https://a.example.org", identityUrl: undefined },
      want: "both",
    },
    {
      host: "x",
      urls: { publicUrl: "https://a.example.org", identityUrl: "https://a.example.org" },
      want: "both",
    },
  ] as const)("$host is $want", ({ host, urls, want }) =>
    expect(toVirtualHost(host, urls)).toBe(want),
  );
});

describe("isOwnOrigin() of", () => {
  const none = { publicUrl: undefined, identityUrl: undefined };
  test.each([
    { origin: "https://id.example.org", host: "id.example.org", urls: URLS, want: true },
    { origin: "http://id.example.org", host: "id.example.org", urls: URLS, want: false },
    { origin: "https://api.example.org", host: "id.example.org", urls: URLS, want: false },
    { origin: "null", host: "id.example.org", urls: URLS, want: false },
    { origin: null, host: "id.example.org", urls: URLS, want: false },
    { origin: "http://127.0.0.1:8787", host: "127.0.0.1:8787", urls: none, want: true },
    { origin: "https://one.example.org", host: "one.example.org", urls: none, want: true },
    { origin: "https://two.example.org", host: "one.example.org", urls: none, want: false },
    { origin: "https://one.example.org/", host: "one.example.org", urls: none, want: false },
  ])("$origin at $host is $want", ({ origin, host, urls, want }) => {
    const request = new Request("http://x/", {
      headers: { host, ...(origin === null ? {} : { origin }) },
    });
    expect(isOwnOrigin(request, { ...DEFAULT_SETTINGS, ...urls })).toBe(want);
  });
});

describe("with a host for the pages", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ identity: () => ({ ...URLS, cookieDomain: "example.org" }) });
  });
  afterAll(() => service.close());

  test.each([
    { host: "id.example.org", path: "/login", status: 200, type: "text/html; charset=utf-8" },
    { host: "id.example.org", path: "/", status: 303, type: null },
    { host: "id.example.org", path: "/v1/auth/me", status: 404, type: "text/html; charset=utf-8" },
    {
      host: "id.example.org",
      path: "/v1/data/db/todos",
      status: 404,
      type: "text/html; charset=utf-8",
    },
    { host: "id.example.org", path: "/nowhere", status: 404, type: "text/html; charset=utf-8" },
    { host: "id.example.org", path: "/live", status: 200, type: "application/json" },
    { host: "api.example.org", path: "/login", status: 404, type: "application/json" },
    { host: "api.example.org", path: "/authorize", status: 404, type: "application/json" },
    { host: "api.example.org", path: "/v1/auth/me", status: 401, type: "application/json" },
    { host: "api.example.org", path: "/v1/auth/nowhere", status: 404, type: "application/json" },
    { host: "10.0.0.7", path: "/v1/data/db/todos", status: 401, type: "application/json" },
  ])("$host$path returns $status", async ({ host, path, status, type }) => {
    const response = await service.call(undefined, path, {
      headers: { host, "x-forwarded-host": "id.example.org" },
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([status, type]);
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
    expect([response.status, response.headers.get("allow")]).toEqual([
      405,
      "GET, HEAD, POST, OPTIONS",
    ]);
    expect(response.text).toContain("<h1>");
  });
});
