/** Lists: pages and limits, order, content negotiation, pushes by other processes, and the number of queries. @module */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openService } from "../../src/service/open.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { cases } from "../support/cases.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { codeOf } from "../support/problem.ts";
import { countRequested, KEY_LOOKUP } from "../support/requested.ts";
import { openTestService, type TestService, UNGUARDED } from "../support/service.ts";
import { nextOf, previewsOfRun } from "../support/shape.ts";
import { share } from "../support/share.ts";

const first = { notes: { title: t.string().required() }, empty: { title: t.string() } };
const LIST = "/v1/data/db/notes";
const MANY = MAX_ROWS + 1;
const HAS_FILTERS = previewsOfRun().includes("filters");

const proxy = await share(openPostgresProxy());
const service = await share(openTestService({ toServingUrl: proxy.toUrl, service: UNGUARDED }));
const app = await service.makeApp(defineSchema(first));
const rows = await service.query<{ id: string }>(
  `insert into data.notes (app_id, id, title)
    select $1::uuid, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'note ' || n
    from generate_series(1, $2::int4) n order by random() returning id`,
  [app.id, MANY],
);
const ids = rows.map(({ id }) => id).sort();

type List = { rows: { id: string }[]; limit: number; offset: number; hasMore: boolean };
const list = async (query: string) => (await service.call(app, LIST + query)).json as List;

describe("a page", () => {
  test.each(cases("query", "limit", "offset", "from", "to", "hasMore")`
                                   | ${MAX_ROWS} | 0           | 0           | ${MAX_ROWS} | true
    ?                              | ${MAX_ROWS} | 0           | 0           | ${MAX_ROWS} | true
    ?limit=${MANY}                 | ${MAX_ROWS} | 0           | 0           | ${MAX_ROWS} | true
    ?limit=99999999999999999999999 | ${MAX_ROWS} | 0           | 0           | ${MAX_ROWS} | true
    ?offset=1                      | ${MAX_ROWS} | 1           | 1           | ${MANY}     | false
    ?limit=0                       | 0           | 0           | 0           | 0           | true
    ?limit=0&offset=${MANY}        | 0           | ${MANY}     | 0           | 0           | false
    ?limit=1&offset=${MAX_ROWS}    | 1           | ${MAX_ROWS} | ${MAX_ROWS} | ${MANY}     | false
    ?limit=1&offset=999            | 1           | 999         | 999         | ${MAX_ROWS} | true
    ?offset=${MANY}                | ${MAX_ROWS} | ${MANY}     | 0           | 0           | false
    ?offset=2147483647             | ${MAX_ROWS} | 2147483647  | 0           | 0           | false
    ?limit=007&offset=00           | 7           | 0           | 0           | 7           | true
    ?%6cimit=%37                   | 7           | 0           | 0           | 7           | true
    ?&limit=2&                     | 2           | 0           | 0           | 2           | true
  `)('has the expected rows for "$query"', async ({ query, limit, offset, from, to, ...more }) => {
    const { rows, ...envelope } = await list(query);
    const hasMore = more.hasMore === "true";
    const page = { limit: Number(limit), offset: Number(offset), hasMore };
    expect(envelope).toEqual({ ...page, ...nextOf(hasMore) });
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(Number(from), Number(to)));
  });

  const NUMBERS =
    "limit= limit limit=-1 limit=1.0 limit=1e2 limit=0x10 limit=+5 limit=%205 limit=5%20";
  const WRONG =
    "limit=NaN limit=１ limit=1,2 limit=1%00 offset=-1 offset=2147483648 offset= offset=a";
  const TWICE = "limit=1&limit=2 offset=1&offset=1 limit=1&%6cimit=1 limit=%zz";

  test.each(`${NUMBERS} ${WRONG} ${TWICE} offset=99999999999999999999`.split(" "))(
    "with ?%s is rejected",
    async (query) => {
      const response = await service.call(app, `${LIST}?${query}`);
      expect([response.status, codeOf(response.text)]).toEqual([400, "invalid_query"]);
    },
  );

  const OTHERS = "Limit=1 limit[]=1 limit%20=1 =1 page=1 cursor=x __proto__=1 id=eq.1 or=(a.eq.1)";

  test.each([...`${OTHERS} limit=1&select=*`.split(" "), ...(HAS_FILTERS ? [] : ["order=id"])])(
    "with ?%s is not supported",
    async (query) => {
      const response = await service.call(app, `${LIST}?${query}`);
      const code = HAS_FILTERS ? "invalid_query" : "unsupported_query";
      expect([response.status, codeOf(response.text)]).toEqual([400, code]);
    },
  );

  test("of an empty table is empty", async () => {
    const response = await service.call(app, "/v1/data/db/empty");
    const empty = { rows: [], limit: MAX_ROWS, offset: 0, hasMore: false, ...nextOf(false) };
    expect(response.text).toBe(JSON.stringify(empty));
  });

  test("has rows in order of creation", async () => {
    const created: string[] = [];
    for (let index = 0; index < 20; index++) {
      const response = await service.call(app, "/v1/data/db/empty", { method: "POST", json: {} });
      created.push((response.json as { id: string }).id);
    }
    const listed = (await service.call(app, "/v1/data/db/empty")).json as List;
    expect(listed.rows.map(({ id }) => id)).toEqual(created);
  });

  test.each([
    "*/*",
    "application/*",
    "application/json",
    "APPLICATION/JSON; q=0.1",
    "text/html, */*;q=0.1",
    "text/xml;q=0.9, application/json",
  ])("is served for Accept: %s", async (accept) => {
    const response = await service.call(app, `${LIST}?limit=1`, { headers: { accept } });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "application/json",
    ]);
  });
});

describe("an update", () => {
  test.each([
    {},
    { nothing: 1 },
    { id: "x", app_id: "y" },
    { nothing: "\u0000", deep: { title: 1 } },
  ])("of only unknown columns, %j, returns the row unchanged", async (json) => {
    const path = `${LIST}/${ids[0]}`;
    const before = await service.call(app, path);
    const response = await service.call(app, path, { method: "PATCH", json });
    expect([response.status, response.text]).toEqual([200, before.text]);
  });

  test("of only unknown columns requires only the write scope", async () => {
    const writer = await service.makeApp(defineSchema(first), { scopes: ["data:write"] });
    const created = await service.call(writer, LIST, { method: "POST", json: { title: "x" } });
    const path = created.headers.get("location") ?? "";
    const response = await service.call(writer, path, { method: "PATCH", json: {} });
    expect([response.status, response.text]).toEqual([200, created.text]);
  });
});

describe("another process", () => {
  /** Opens a second service on the same database, with separate pools and caches. */
  async function withSecond(use: (second: TestService["service"]) => Promise<void>): Promise<void> {
    const second = openService({
      databaseUrl: service.database.servingUrl,
      adminDatabaseUrl: service.database.adminUrl,
      connections: 2,
      prepare: service.database.prepare,
      keyPrefix: "rh",
      identitySecrets: [TEST_IDENTITY_SECRET],
      log: () => undefined,
    });
    await second.warm();
    await use(second);
    await second.close();
  }
  const ask = (
    second: TestService["service"],
    path: string,
    init: RequestInit = {},
    key = app.key,
  ) =>
    second.fetch(
      new Request(`http://second.example${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      }),
      { requestIP: () => null },
    );

  test("serves a table and stores a column that were just pushed through the first process", async () => {
    await withSecond(async (second) => {
      expect((await ask(second, LIST)).status).toBe(200);
      await service.pushSchema(
        app,
        defineSchema({
          ...first,
          notes: { ...first.notes, body: t.string(), state: t.enum(["new"]) },
          fresh: { title: t.string().unique() },
        }),
      );
      const written = await ask(second, LIST, {
        method: "POST",
        body: '{"title":"t","body":"kept"}',
      });
      expect([written.status, await written.json()]).toEqual([
        201,
        expect.objectContaining({ body: "kept" }),
      ]);
      const created = await ask(second, "/v1/data/db/fresh", {
        method: "POST",
        body: '{"title":"t"}',
      });
      expect(created.status).toBe(201);
      const path = `${LIST}/${ids[0]}`;
      await service.pushSchema(
        app,
        defineSchema({
          ...first,
          notes: {
            ...first.notes,
            body: t.string(),
            state: t.enum(["new", "newer"]),
            more: t.string(),
          },
          fresh: { title: t.string().unique() },
        }),
      );
      const changed = await ask(second, path, {
        method: "PATCH",
        body: '{"more":"kept","state":"newer"}',
      });
      expect(await changed.json()).toEqual(
        expect.objectContaining({ more: "kept", state: "newer" }),
      );
    });
  });
});

describe("the database gets few queries:", () => {
  const LOOKUP = "select name, version";
  const LEASE = "rowhouse.lease_tokens";

  /** Sends 200 concurrent requests directly to the service, without a server. */
  const sendMany = (toPath: (index: number) => string) =>
    Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        service.service.fetch(
          new Request(`http://flood.example${toPath(index)}`, {
            headers: { authorization: `Bearer ${app.key}` },
          }),
          { requestIP: () => null },
        ),
      ),
    );

  test("a request for an unknown table runs one statement, which proves the key and confirms the catalog", async () => {
    await list("?limit=1");
    await service.service.warm();
    const count = () => [proxy.count("rowhouse.prove_api_key"), proxy.count(LOOKUP)] as const;
    const [[proofs, lookups], startedAt] = [count(), performance.now()];
    const responses = await sendMany((index) => `/v1/data/db/unknown_${index}`);
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([404]));
    const [newProofs, newLookups] = count();
    expect(newProofs - proofs).toBe(responses.length);
    // The watch of each process adds one lookup a second.
    expect(newLookups - lookups).toBeLessThanOrEqual(
      3 + (3 * (performance.now() - startedAt)) / 900,
    );
  });

  test("many requests with a stale cached key read it once", async () => {
    await service.service.admin.message(
      `update rowhouse.api_keys set scopes = scopes where app_id = '${app.id}' returning key_id`,
    );
    await service.service.warm();
    const before = proxy.count(KEY_LOOKUP);
    const responses = await sendMany(() => `${LIST}?limit=1`);
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]));
    expect(proxy.count(KEY_LOOKUP) - before).toBe(1);
  });

  test("malformed keys and tables cause only lease queries for the client's rate limit", async () => {
    await service.service.warm();
    const count = () => countRequested(proxy) - proxy.count(LEASE);
    const [before, leases] = [count(), proxy.count(LEASE)];
    for (let index = 0; index < 100; index++) {
      const key =
        index % 2 === 0 ? `${app.key.slice(0, -1)}_` : `rh_${"a".repeat(16)}.${"b".repeat(49)}`;
      expect((await service.call(app, LIST, { key })).status).toBe(401);
      expect((await service.call(app, `/v1/data/db/Un%20known${index}`)).status).toBe(404);
    }
    expect(count() - before).toBe(0);
    // A lease of the limit covers many of the 200 failures.
    expect(proxy.count(LEASE) - leases).toBeLessThanOrEqual(30);
  });

  test("a read with a cached key runs one statement", async () => {
    await list("?limit=1");
    await service.service.warm();
    const before = [proxy.count("api."), proxy.count(KEY_LOOKUP)];
    for (let index = 0; index < 20; index++) await list("?limit=1");
    expect([proxy.count("api."), proxy.count(KEY_LOOKUP)]).toEqual([
      (before[0] ?? 0) + 20,
      before[1] ?? 0,
    ]);
  });

  test("a rejected write runs one statement, which proves the key and confirms the catalog", async () => {
    await list("?limit=1");
    await service.service.warm();
    const wrong = { title: 7 };
    const bodies = [wrong, { ...wrong, unknown: 1 }, [{ title: "a" }, wrong]];
    const rejected = Array.from({ length: 20 }, () => bodies).flat();
    const count = () => [
      proxy.count("rowhouse.prove_api_key"),
      countRequested(proxy) - proxy.count(LEASE),
    ];
    const [before, lookups, startedAt] = [count(), proxy.count(LOOKUP), performance.now()];
    for (const json of rejected) {
      const response = await service.call(app, LIST, { method: "POST", json });
      expect([response.status, response.json]).toMatchObject([422, { error: "validation_failed" }]);
    }
    expect(count()).toEqual(before.map((number) => number + rejected.length));
    // The watch of each process adds one lookup a second.
    expect(proxy.count(LOOKUP) - lookups).toBeLessThanOrEqual(
      3 + (3 * (performance.now() - startedAt)) / 900,
    );
  });
});
