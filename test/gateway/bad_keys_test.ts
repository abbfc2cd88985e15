/** Requests without a valid API key: all get the same response, in one process and behind a gateway. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueKey, revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toBase62 } from "../../src/std/secrets.ts";
import { testDeps } from "../support/deps.ts";
import { expectRejection } from "../support/problem.ts";
import { sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";

/** A live key, and two expired or revoked keys of the same app. */
type Keys = { good: string; expired: string; revoked: string };

type BadKey = { name: string; path?: string; lines: (keys: Keys) => string[] };

const bearer = (key: string) => `Authorization: Bearer ${key}`;

const BAD_KEYS: readonly BadKey[] = [
  { name: "no key", lines: () => [] },
  { name: "an empty header", lines: () => ["Authorization: "] },
  { name: "only a scheme", lines: () => ["Authorization: Bearer"] },
  { name: "another scheme", lines: ({ good }) => [`Authorization: Basic ${good}`] },
  { name: "a forged key", lines: () => [bearer("rh_x.y")] },
  { name: "a truncated key", lines: ({ good }) => [bearer(good.slice(0, -1))] },
  { name: "an over-long key", lines: ({ good }) => [bearer(`${good}0`)] },
  { name: "a very long key", lines: ({ good }) => [bearer(good.repeat(50))] },
  { name: "another prefix", lines: ({ good }) => [bearer(good.replace("rh_", "xx_"))] },
  {
    name: "a wrong checksum",
    lines: ({ good }) => [bearer(good.slice(0, -1) + (good.endsWith("0") ? "1" : "0"))],
  },
  {
    name: "an uppercase id",
    lines: ({ good }) => [bearer(good.replace(/_[a-z0-9]+/, (id) => id.toUpperCase()))],
  },
  {
    name: "an unknown key with a valid checksum",
    lines: () => {
      const start = `rh_${"a".repeat(16)}.${"b".repeat(43)}`;
      return [bearer(start + toBase62(Bun.hash.crc32(start), 6))];
    },
  },
  { name: "an expired key", lines: ({ expired }) => [bearer(expired)] },
  { name: "a revoked key", lines: ({ revoked }) => [bearer(revoked)] },
  { name: "a key with trailing text", lines: ({ good }) => [bearer(`${good} x`)] },
  { name: "a byte beyond ASCII", lines: ({ good }) => [bearer(`${good}\u00e9`)] },
  { name: "two keys in one header", lines: ({ good }) => [`${bearer(good)}, Bearer ${good}`] },
  { name: "the key in two headers", lines: ({ good }) => [bearer(good), bearer(good)] },
  {
    name: "the key next to a header of another scheme",
    lines: ({ good }) => [bearer(good), "Authorization: Basic eDp5"],
  },
  {
    name: "the key in cookies",
    lines: ({ good }) => [`Cookie: authorization=Bearer ${good}; key=${good}`],
  },
  { name: "the key in X-Api-Key", lines: ({ good }) => [`X-Api-Key: ${good}`] },
  { name: "the key in the query", path: `${LIST}?api_key=`, lines: () => [] },
];

describe.each(SHAPES)('for a service of the shape "%s",', (shape) => {
  let service: TestService;
  let app: TestApp;
  let keys: Keys;
  beforeAll(async () => {
    service = await openTestService({ shape });
    app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
    const issue = async (expiresAt?: Date) =>
      await issueKey(testDeps(service.service), {
        slug: app.slug,
        name: "",
        scopes: ["data:read"],
        expiresAt,
      });
    const [expired, revoked] = [await issue(new Date(Date.now() - 1000)), await issue()];
    await revokeKey(testDeps(service.service), revoked.keyId);
    keys = { good: app.key, expired: expired.text, revoked: revoked.text };
    for (const key of Object.values(keys)) service.secrets.add(key);
  });
  afterAll(() => service.close());

  test.each(BAD_KEYS)("$name gets 401", async ({ path, lines }) => {
    const target = path === undefined ? LIST : path + keys.good;
    const request = writeRequest(`GET ${target}`, lines(keys));
    const response = await sendRaw(service.url, request, { untilResponse: true });
    expectRejection(response, {
      code: "unauthenticated",
      message: "Send a valid API key as Authorization: Bearer <API_KEY>",
      headers: { "www-authenticate": "Bearer" },
    });
    for (const key of Object.values(keys)) expect(response.text).not.toContain(key);
  });

  test("the valid key gets 200", async () => {
    expect((await service.call(app, LIST, { key: keys.good })).status).toBe(200);
  });
});
