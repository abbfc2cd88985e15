/**
 * Cached pages are returned only after confirmation by the database. The cache has a memory limit and is fair to every
 * app.
 *
 * @module
 */

import { describe, expect, test } from "bun:test";
import { makeListCache } from "../../src/data/mod.ts";
import { revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { testDeps } from "../support/deps.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";
import { nextOf } from "../support/shape.ts";
import { share } from "../support/share.ts";

const page = (tag: string, length: number) => ({
  tag,
  body: new Uint8Array(length),
  encoding: undefined,
});

describe("the cache", () => {
  test("stores the last page of each request, and evicts the least recently used page", () => {
    const cache = makeListCache(40_000);
    for (const key of ["a", "b", "c"]) cache.keep("app", key, page(key, 4_000));
    expect(cache.find("app", "a")?.tag).toBe("a");
    for (let n = 0; n < 6; n++) cache.keep("app", `more ${n}`, page("more", 4_000));
    expect(cache.find("app", "b")).toBeUndefined();
    expect(cache.find("app", "a")?.tag).toBe("a");
    cache.keep("app", "a", page("newer", 10));
    expect(cache.find("app", "a")?.tag).toBe("newer");
    expect(cache.find("other", "a")).toBeUndefined();
  });

  test("never exceeds its memory limit", () => {
    const cache = makeListCache(100_000);
    for (let n = 0; n < 5_000; n++) {
      cache.keep(`app ${n % 70}`, `${n % 13}`, page("x", (n * 7919) % 12_000));
      expect(cache.size()).toBeLessThanOrEqual(100_000);
    }
    expect(cache.size()).toBeGreaterThan(50_000);
    for (let n = 0; n < 5_000; n++) cache.keep("empty pages", `${n}`, page("x", 0));
    expect(cache.size()).toBeLessThanOrEqual(100_000);
  });

  test("is not emptied by one busy app", () => {
    const cache = makeListCache(100_000);
    for (let n = 0; n < 5; n++) cache.keep("quiet", `${n}`, page("x", 1_000));
    for (let n = 0; n < 1_000; n++) cache.keep("loud", `${n}`, page("x", 9_000));
    for (let n = 0; n < 5; n++) expect(cache.find("quiet", `${n}`)).toBeDefined();
  });

  test("stores no page that leaves no space for others, and stores nothing without memory", () => {
    const cache = makeListCache(100_000);
    cache.keep("app", "large", page("x", 20_000));
    expect([cache.find("app", "large"), cache.size()]).toEqual([undefined, 0]);
    const none = makeListCache(0);
    none.keep("app", "a", page("x", 0));
    expect([none.find("app", "a"), none.size()]).toEqual([undefined, 0]);
  });
});

const schema = defineSchema({ todos: { title: t.string() } });
const TODOS = "/v1/data/db/todos";

/** The bytes of rows that the database has sent since the last list. */
let sent = 0;
const proxy = await share(openPostgresProxy());
const service = await share(openTestService({ toServingUrl: proxy.toUrl, service: UNGUARDED }));
const app = await service.makeApp(schema);
proxy.onMessage(({ from, type, body }) => {
  if (from === "server" && type === "D") sent += body.length;
  return undefined;
});
for (let n = 0; n < 30; n++) await make(app, `${n} ${"long ".repeat(40)}`);

async function make(as: TestApp, title: string): Promise<string> {
  const created = await service.call(as, TODOS, { method: "POST", json: { title } });
  expect(created.status).toBe(201);
  return (created.json as { id: string }).id;
}

/** Returns a page, and the number of bytes that the database sent for it. */
async function list(as = app, query = "", headers: Record<string, string> = {}) {
  sent = 0;
  const response = await fetch(`${service.url}${TODOS}${query}`, {
    headers: { authorization: `Bearer ${as.key}`, "accept-encoding": "identity", ...headers },
    decompress: false,
  });
  const bytes = await response.bytes();
  return { response, bytes, text: new TextDecoder().decode(bytes), sent };
}

/** Far fewer bytes than the page, and more than the other lookups of a request. */
const UNCHANGED = 2_500;

describe("a cached page", () => {
  test("is not sent by the database again until it changes", async () => {
    const first = await list();
    const second = await list();
    expect([first.sent > 5_000, second.sent < UNCHANGED]).toEqual([true, true]);
    expect(second.text).toBe(first.text);
    const id = await make(app, "new");
    const third = await list();
    expect([third.sent > 5_000, third.text.includes(id)]).toEqual([true, true]);
    await service.call(app, `${TODOS}/${id}`, { method: "DELETE" });
    expect((await list()).text).toBe(first.text);
    expect((await list()).sent).toBeLessThan(UNCHANGED);
  });

  test("is served only for an identical query", async () => {
    await list(app, "?limit=3");
    for (const query of ["?limit=2", "?limit=3&offset=1", "?limit=4"]) {
      const { text } = await list(app, query);
      expect(text).toBe((await list(app, query)).text);
      expect((JSON.parse(text) as { rows: unknown[] }).rows.length).toBe(Number(query[7]));
    }
  });

  test("is not served to another app", async () => {
    const other = await service.makeApp(schema);
    await list();
    const { text } = await list(other);
    const empty = { rows: [], limit: MAX_ROWS, offset: 0, hasMore: false, ...nextOf(false) };
    expect(text).toBe(JSON.stringify(empty));
  });

  test("is not served to a revoked key", async () => {
    const own = await service.makeApp(schema);
    await make(own, "one");
    expect((await list(own)).response.status).toBe(200);
    expect((await list(own)).response.status).toBe(200);
    await revokeKey(testDeps(service.service), own.key.split(/[_.]/)[1] ?? "");
    expect((await list(own)).response.status).toBe(401);
  });

  test("is served to a reader with an older tag", async () => {
    const before = (await list()).response.headers.get("etag") ?? "";
    const id = await make(app, "new");
    await list();
    const unchanged = await list(app, "", { "if-none-match": before });
    expect([
      unchanged.response.status,
      unchanged.sent < UNCHANGED,
      unchanged.text.includes(id),
    ]).toEqual([200, true, true]);
  });
});

const ENCODED = [
  { accepted: "zstd", encoding: "zstd" },
  { accepted: "gzip, deflate, br, zstd", encoding: "zstd" },
  { accepted: "gzip", encoding: "gzip" },
  { accepted: "GZIP;q=0.5, identity", encoding: "gzip" },
  { accepted: "zstd;q=0.1, gzip;q=0.9", encoding: "gzip" },
  { accepted: "*", encoding: "zstd" },
  { accepted: "*, zstd;q=0", encoding: "gzip" },
  { accepted: "zstd;q=0, gzip;q=0", encoding: null },
  { accepted: "br", encoding: null },
  { accepted: "nonsense;;;,=,", encoding: null },
] as const;

describe("a compressed page", () => {
  test.each(ENCODED)("$accepted gets $encoding", async ({ accepted, encoding }) => {
    const plain = await list();
    const { response, bytes } = await list(app, "", { "accept-encoding": accepted });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    const decoded =
      encoding === "zstd"
        ? Bun.zstdDecompressSync(bytes)
        : encoding === "gzip"
          ? Bun.gunzipSync(bytes)
          : bytes;
    expect(new TextDecoder().decode(decoded)).toBe(plain.text);
    const tag = plain.response.headers.get("etag") ?? "";
    const own = encoding === null ? tag : tag.replace(/"$/, `-${encoding}"`);
    expect(response.headers.get("etag")).toBe(own);
    const same = await list(app, "", { "accept-encoding": accepted, "if-none-match": own });
    expect([same.response.status, same.response.headers.get("etag"), same.bytes.length]).toEqual([
      304,
      own,
      0,
    ]);
    const again = await list(app, "", { "accept-encoding": accepted });
    expect([again.bytes, again.sent < UNCHANGED]).toEqual([bytes, true]);
  });

  test("is not used for a few rows", async () => {
    const { response } = await list(app, "?limit=2", { "accept-encoding": "zstd" });
    expect(response.headers.get("content-encoding")).toBeNull();
  });

  test.each(["gzip", "zstd"])("of a large list in %s is complete", async (encoding) => {
    const own = await service.makeApp(schema);
    await service.service.admin.message(`insert into data.todos (app_id, id, title)
      select '${own.id}', gen_random_uuid(), repeat(md5(n::text), 20) from generate_series(1, 900) n returning id`);
    const plain = await list(own);
    expect(plain.bytes.length).toBeGreaterThan(400_000);
    const { bytes } = await list(own, "", { "accept-encoding": encoding });
    const decoded = encoding === "zstd" ? Bun.zstdDecompressSync(bytes) : Bun.gunzipSync(bytes);
    expect(new TextDecoder().decode(decoded) === plain.text).toBe(true);
  });
});
