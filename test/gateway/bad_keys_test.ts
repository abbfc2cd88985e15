/** Requests without a valid API key: all get the same response, in one process and behind a gateway. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueKey, revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toBase62 } from "../../src/std/base62.ts";
import { testDeps } from "../support/deps.ts";
import { expectRejection } from "../support/problem.ts";
import { sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";

/** A live key, and two expired or revoked keys of the same app. */
type Keys = { good: string; expired: string; revoked: string };

const bearer = (key: string) => `Authorization: Bearer ${key}`;

function makeUnknown(): string {
  const start = `rh_${"a".repeat(16)}.${"b".repeat(43)}`;
  return start + toBase62(Bun.hash.crc32(start), 6);
}

/** The lines with each; one that is a path is the target. */
const BAD_KEYS: Readonly<Record<string, (keys: Keys) => string[]>> = {
  "no key": () => [],
  "an empty header": () => ["Authorization: "],
  "only a scheme": () => ["Authorization: Bearer"],
  "another scheme": ({ good }) => [`Authorization: Basic ${good}`],
  "a forged key": () => [bearer("rh_x.y")],
  "a truncated key": ({ good }) => [bearer(good.slice(0, -1))],
  "an over-long key": ({ good }) => [bearer(`${good}0`)],
  "a very long key": ({ good }) => [bearer(good.repeat(50))],
  "another prefix": ({ good }) => [bearer(good.replace("rh_", "xx_"))],
  "a wrong checksum": ({ good }) => [
    bearer(good.replace(/.$/, (end) => (end === "0" ? "1" : "0"))),
  ],
  "an uppercase id": ({ good }) => [bearer(good.replace(/_[a-z0-9]+/, (id) => id.toUpperCase()))],
  "an unknown key with a valid checksum": () => [bearer(makeUnknown())],
  "an expired key": ({ expired }) => [bearer(expired)],
  "a revoked key": ({ revoked }) => [bearer(revoked)],
  "a key with trailing text": ({ good }) => [bearer(`${good} x`)],
  "a byte beyond ASCII": ({ good }) => [bearer(`${good}\u00e9`)],
  "two keys in one header": ({ good }) => [`${bearer(good)}, Bearer ${good}`],
  "the key in two headers": ({ good }) => [bearer(good), bearer(good)],
  "the key next to another scheme": ({ good }) => [bearer(good), "Authorization: Basic eDp5"],
  "the key in cookies": ({ good }) => [`Cookie: authorization=Bearer ${good}; key=${good}`],
  "the key in X-Api-Key": ({ good }) => [`X-Api-Key: ${good}`],
  "the key in the query": ({ good }) => [`${LIST}?api_key=${good}`],
};

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

  test.each(Object.entries(BAD_KEYS))("%s gets 401", async (_, toLines) => {
    const lines = toLines(keys);
    const target = lines[0]?.startsWith("/") ? lines.shift() : LIST;
    const request = writeRequest(`GET ${target}`, lines);
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
