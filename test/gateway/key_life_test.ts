/**
 * Keys in several processes with one database: new keys work immediately, revoked keys stop in time, and rejections are
 * cheap.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import SCHEMA from "../../schema/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import { issueKey, revokeKey } from "../../src/records/apps/mod.ts";
import { toBase62 } from "../../src/std/base62.ts";
import { testDeps } from "../support/deps.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { KEY_LOOKUP } from "../support/requested.ts";
import {
  callService,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";
import { type Opened, openShape, SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/todos?limit=1";
const FLOOD = 200;

/** Returns a key with a valid format and checksum that was never issued. */
function makeUnknownKey(index: number): string {
  const id = `unknown${String(index).padStart(9, "0")}`;
  const start = `rh_${id}.${toBase62(Bun.hash.crc32(id), 6).padStart(43, "x")}`;
  return start + toBase62(Bun.hash.crc32(start), 6);
}

describe.each(SHAPES)('two services of the shape "%s" over one database', (shape) => {
  let proxy: PostgresProxy;
  let service: TestService;
  let second: Opened;
  let app: TestApp;
  beforeAll(async () => {
    proxy = await openPostgresProxy();
    service = await openTestService({ shape, toServingUrl: proxy.toUrl });
    second = await openShape({ shape }, service.database, () => undefined);
    app = await service.makeApp(SCHEMA);
  });
  afterAll(async () => {
    await second.close();
    await service.close();
    await proxy.close();
  });

  const issue = () =>
    issueKey(testDeps(service.service), {
      slug: app.slug,
      name: "",
      scopes: ["data:read"],
      expiresAt: undefined,
    });
  /** Returns each service's response to a key. */
  const ask = async (key: string) => {
    const responses = await Promise.all(
      [service.url, second.url].map((url) =>
        callService({ url, secrets: service.secrets }, app, LIST, { key }),
      ),
    );
    return responses.map(({ status }) => status);
  };

  test("a new key works immediately in both", async () => {
    for (let count = 0; count < 5; count++) {
      const { text } = await issue();
      expect(await ask(text)).toEqual([200, 200]);
    }
  });

  test("a key that was rejected as unknown works in both as soon as it exists", async () => {
    const { text, keyId } = await issue();
    const admin = service.service.admin;
    const [row] = await readRows<{ row: string }>(
      admin,
      "delete from rowhouse.api_keys where key_id = $1 returning row_to_json(api_keys)::text as row",
      [keyId],
    );
    expect(await ask(text)).toEqual([401, 401]);
    await readRows(
      admin,
      "insert into rowhouse.api_keys select * from json_populate_record(null::rowhouse.api_keys, $1::text::json) returning key_id",
      [row?.row ?? ""],
    );
    expect(await ask(text)).toEqual([200, 200]);
  });

  test("a revoked key is rejected by both immediately, even after both have served it", async () => {
    const { text, keyId } = await issue();
    expect(await ask(text)).toEqual([200, 200]);
    await revokeKey({ admin: service.service.admin }, keyId);
    expect(await ask(text)).toEqual([401, 401]);
  });

  test("simultaneous unknown keys share their lookups, and a single key costs one lookup", async () => {
    const guess = (index: number) =>
      service.service.fetch(
        new Request(`http://flood.example${LIST}`, {
          headers: { authorization: `Bearer ${makeUnknownKey(index)}` },
        }),
        { requestIP: () => null },
      );
    await service.service.warm();
    const before = proxy.count(KEY_LOOKUP);
    const responses = await Promise.all(Array.from({ length: FLOOD }, (_, index) => guess(index)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    // One lookup runs and one follows for all later requests. The requests that wait for a shared count add the same number.
    expect(proxy.count(KEY_LOOKUP) - before).toBeGreaterThan(0);
    expect(proxy.count(KEY_LOOKUP) - before).toBeLessThanOrEqual(4);
    for (let index = 0; index < 10; index++) await guess(FLOOD + index);
    expect(proxy.count(KEY_LOOKUP) - before).toBeLessThanOrEqual(14);
  });
});
