/** `Idempotency-Key`: a repeated write happens once, and gets the first response again. @module */
import { describe, expect, test } from "bun:test";
import type { Scope } from "../../src/principal.ts";
import { issueKey, revokeKey, rollKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { IDEMPOTENCY_COUNT_S, IDEMPOTENCY_HOURS } from "../../src/std/limits.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileRowLocked } from "../support/held_lock.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: {
    title: t.string().required().default("untitled"),
    price: t.decimal(),
    rank: t.number(),
    at: t.timestamp().default("now"),
    data: t.json(),
    kind: t.enum(["ä", "b"]).default("ä"),
    project: t.ref("projects"),
    done: t.boolean().required().default(false),
    other: t.uuid(),
  },
});
const TODOS = "/v1/data/db/todos";
const PROJECTS = "/v1/data/db/projects";

const proxy = await share(openPostgresProxy());
const service = await share(
  openTestService({ toServingUrl: proxy.toUrl, service: { idempotencyBytes: 200_000 } }),
);
const app = await service.makeApp(schema);

const freshKey = () => crypto.randomUUID();

function send(
  method: "POST" | "PATCH",
  path: string,
  {
    key,
    json,
    as = app,
    headers = {},
  }: { key: string; json: object; as?: TestApp; headers?: Record<string, string> },
): Promise<TestResponse> {
  return service.call(as, path, { method, json, headers: { "idempotency-key": key, ...headers } });
}

const post = (key: string, json: object, path = TODOS, as = app) =>
  send("POST", path, { key, json, as });

async function countRows(as = app, path = TODOS): Promise<number> {
  return ((await service.call(as, path)).json as { rows: unknown[] }).rows.length;
}

/** Returns the content of a response, without the values of the request. */
function toComparable({ status, text, headers }: TestResponse) {
  return { status, text, etag: headers.get("etag"), location: headers.get("location") };
}

const isReplayed = ({ headers }: TestResponse) => headers.get("idempotency-replayed");

async function ask<Row>(text: string): Promise<Row[]> {
  return await service.query<Row>(text);
}

const REJECTED_KEYS = ["", "x".repeat(256), "tab\there", "ä", "one, two"];

describe("a key", () => {
  test.each(REJECTED_KEYS)("%p is rejected", async (key) => {
    const before = await countRows();
    for (const [method, path] of [
      ["POST", TODOS],
      ["PATCH", `${TODOS}/00000000-0000-7000-8000-000000000000`],
    ] as const) {
      const response = await fetch(service.url + path, {
        method,
        headers: [
          ["authorization", `Bearer ${app.key}`],
          ["content-type", "application/json"],
          ...key.split(", ").map((value): [string, string] => ["idempotency-key", value]),
        ],
        body: "{}",
      });
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: "invalid_precondition", message: expect.stringContaining("Idempotency-Key") },
      ]);
    }
    expect(await countRows()).toBe(before);
  });

  test("is ignored on a read and a delete", async () => {
    const created = await post(freshKey(), {});
    const path = created.headers.get("location") ?? "";
    const headers = { "idempotency-key": "ä" };
    expect((await service.call(app, path, { headers })).status).toBe(200);
    expect((await service.call(app, path, { method: "DELETE", headers })).status).toBe(204);
  });

  test.each(["x", "!#$%&'()*+-./:;<=>?@[]^_`{|}~ with spaces", "y".repeat(255)])(
    "%p is accepted",
    async (key) => {
      const first = await post(key, { title: "once" });
      expect(toComparable(await post(key, { title: "once" }))).toEqual(toComparable(first));
    },
  );
});

const VALUES: readonly object[] = [
  {},
  {
    title: 'tä\u0001xt 🎈 "quoted" \\',
    price: "12.3400",
    rank: 1.5e300,
    at: "2026-01-02T03:04:05.123456Z",
    data: { b: [1, null, "x"], a: { "": 0.1 } },
    kind: "b",
    done: true,
    other: "AAAAAAAA-0000-4000-8000-00000000000A",
  },
  { at: null, price: "-0.0", rank: 0, data: null, kind: null },
  { data: "null", price: "1", rank: 123456789.125, at: "0001-01-01T00:00:00Z" },
];

describe("a create", () => {
  test.each(VALUES)(
    "of %j happens once, and its repetition gets the stored response",
    async (json) => {
      const key = freshKey();
      const before = await countRows();
      const [first, second] = [await post(key, json), await post(key, json)];
      expect([first.status, isReplayed(first), isReplayed(second)]).toEqual([201, null, "true"]);
      expect(toComparable(second)).toEqual(toComparable(first));
      expect((await service.call(app, first.headers.get("location") ?? "")).text).toBe(second.text);
      expect(await countRows()).toBe(before + 1);
    },
  );

  test("with another body, method or path under the key is rejected, and the stored response remains", async () => {
    const key = freshKey();
    const first = await post(key, { title: "one" });
    const before = await countRows();
    for (const response of [
      await post(key, { title: "two" }),
      await post(key, { name: "one" }, PROJECTS),
      await send("PATCH", first.headers.get("location") ?? "", { key, json: { title: "one" } }),
    ]) {
      expect([response.status, response.json]).toMatchObject([
        422,
        { error: "idempotency_mismatch", message: expect.stringContaining("another request") },
      ]);
    }
    expect(toComparable(await post(key, { title: "one" }))).toEqual(toComparable(first));
    expect(await countRows()).toBe(before);
  });

  test("that was rejected stores nothing, and its repetition is validated again", async () => {
    const project = await service.call(app, PROJECTS, { method: "POST", json: { name: "taken" } });
    const { id } = project.json as { id: string };
    const [conflict, dangling, invalid] = [freshKey(), freshKey(), freshKey()];
    expect((await post(conflict, { name: "taken" }, PROJECTS)).status).toBe(409);
    expect((await post(dangling, { project: freshKey() })).status).toBe(422);
    expect((await post(invalid, { title: 7 })).status).toBe(422);
    await service.call(app, `${PROJECTS}/${id}`, { method: "DELETE" });
    const responses = [
      await post(conflict, { name: "taken" }, PROJECTS),
      await post(dangling, {}),
      await post(invalid, {}),
    ];
    expect(responses.map((response) => [response.status, isReplayed(response)])).toEqual([
      [201, null],
      [201, null],
      [201, null],
    ]);
  });

  test("of another app can use the same key", async () => {
    const other = await service.makeApp(schema);
    const key = freshKey();
    const [mine, theirs] = [
      await post(key, { title: "one" }),
      await post(key, { title: "two" }, TODOS, other),
    ];
    expect([mine.status, theirs.status, isReplayed(theirs)]).toEqual([201, 201, null]);
    expect(await countRows(other)).toBe(1);
  });

  test("that is sent several times in parallel happens once", async () => {
    const before = await countRows();
    for (let round = 0; round < 10; round++) {
      const key = freshKey();
      const bodies = [
        { title: "a" },
        { title: "a" },
        { title: "a" },
        { title: "b" },
        { title: "b" },
        { title: "a" },
      ];
      const responses = await Promise.all(bodies.map((json) => post(key, json)));
      const created = responses.filter(({ status }) => status === 201);
      expect(new Set(created.map(({ text }) => text)).size).toBe(1);
      expect(created.filter((response) => isReplayed(response) === null).length).toBe(1);
      const { title } = (created[0]?.json ?? {}) as { title?: string };
      expect(responses.map(({ status }) => status)).toEqual(
        bodies.map((json) => (json.title === title ? 201 : 422)),
      );
    }
    expect(await countRows()).toBe(before + 10);
  });

  test("with a large response is replayed with only its id and a Preference-Applied header", async () => {
    const key = freshKey();
    const json = { title: "x".repeat(20_000) };
    const [first, second] = [await post(key, json), await post(key, json)];
    const { id } = first.json as { id: string };
    expect([second.status, second.json, isReplayed(second)]).toEqual([201, { id }, "true"]);
    expect(second.headers.get("preference-applied")).toBe("return=minimal");
    expect([first.headers.has("etag"), second.headers.has("etag")]).toEqual([true, false]);
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
  });
});

describe("an update", () => {
  test("happens once despite later changes, and is replayed before If-Match is checked", async () => {
    const created = await post(freshKey(), { title: "one" });
    const path = created.headers.get("location") ?? "";
    const update = {
      key: freshKey(),
      json: { title: "two" },
      headers: { "if-match": created.headers.get("etag") ?? "" },
    };
    const first = await send("PATCH", path, update);
    await service.call(app, path, { method: "PATCH", json: { title: "three" } });
    const second = await send("PATCH", path, update);
    expect([first.status, toComparable(second), isReplayed(second)]).toEqual([
      200,
      toComparable(first),
      "true",
    ]);
    expect((await service.call(app, path)).json).toMatchObject({ title: "three" });
  });

  test("that was rejected stores nothing", async () => {
    const created = await post(freshKey(), { title: "one" });
    const path = created.headers.get("location") ?? "";
    const key = freshKey();
    expect(
      (await send("PATCH", path, { key, json: { title: "two" }, headers: { "if-match": '"x"' } }))
        .status,
    ).toBe(412);
    expect((await send("PATCH", path, { key, json: { project: key } })).status).toBe(422);
    const missing = `${TODOS}/00000000-0000-7000-8000-000000000000`;
    expect((await send("PATCH", missing, { key, json: { title: "two" } })).status).toBe(404);
    const response = await send("PATCH", path, { key, json: { title: "four" } });
    expect([response.status, isReplayed(response)]).toEqual([200, null]);
  });

  test("with only unknown columns stores its key", async () => {
    const path = (await post(freshKey(), { title: "one" })).headers.get("location") ?? "";
    const key = freshKey();
    expect((await send("PATCH", path, { key, json: { nothing: 1 } })).status).toBe(200);
    expect((await send("PATCH", path, { key, json: { title: "two" } })).status).toBe(422);
  });

  test("that is sent several times in parallel happens once", async () => {
    const created = await post(freshKey(), { title: "one", rank: 0 });
    const path = created.headers.get("location") ?? "";
    const key = freshKey();
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => send("PATCH", path, { key, json: { rank: 1 } })),
    );
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses.filter((response) => isReplayed(response) === null).length).toBe(1);
  });
});

describe("stored keys", () => {
  test("are replayed only to the app's valid keys with the scope", async () => {
    const key = freshKey();
    await post(key, { title: "secret" });
    const reader = await service.makeApp(schema, { scopes: ["data:read"] });
    expect((await post(key, { title: "secret" }, TODOS, reader)).status).toBe(403);
    const response = await service.call(app, TODOS, {
      method: "POST",
      json: { title: "secret" },
      key: null,
      headers: { "idempotency-key": key },
    });
    expect(response.status).toBe(401);
  });

  test("expire after a day, and are then swept", async () => {
    // Wait for the service's first sweep, which would also delete keys.
    await eventually(() => proxy.count("idempotency_sizes") > 0);
    const old = await service.makeApp(schema);
    const [used, unused] = [freshKey(), freshKey()];
    await post(used, { title: "one" }, TODOS, old);
    await post(unused, { title: "one" }, TODOS, old);
    await service.service.admin.message(
      `update rowhouse.idempotency_keys set created_at = now() - interval '${IDEMPOTENCY_HOURS} hours 1 second' where app_id = '${old.id}'; select 1`,
    );
    const again = await post(used, { title: "another" }, TODOS, old);
    expect([again.status, isReplayed(again), await countRows(old)]).toEqual([201, null, 3]);
    const [swept] = await ask<{ n: number }>("select rowhouse.sweep_idempotency_keys(1000) as n");
    expect(swept?.n).toBe(1);
    const left = await ask<{ n: number }>(
      `select count(*)::int4 as n from rowhouse.idempotency_keys where app_id = '${old.id}'`,
    );
    expect(left).toEqual([{ n: 1 }]);
  });

  const testOne = testUnlessCitus("the coordinator cannot see the reads of nodes");

  testOne("are swept without a read of the remaining keys", async () => {
    const old = await service.makeApp(schema);
    const read = await service.service.admin.message<{ n: number }>(
      `insert into rowhouse.idempotency_keys (app_id, key, request, is_whole, created_at)
      select '${old.id}', sha256(n::text::bytea), sha256('x'), true, now() - n * interval '1 minute'
      from generate_series(1, 1450) as n;
      select rowhouse.sweep_idempotency_keys(1000);
      select (seq_tup_read + idx_tup_fetch)::int4 as n from pg_stat_xact_all_tables
      where relid = 'rowhouse.idempotency_keys'::regclass`,
    );
    expect(read[0]?.n).toBeLessThan(100);
  });

  test("are counted app by app, in steps of bounded time", async () => {
    await service.makeApp(schema);
    const counted = (after: string) =>
      ask<{ app_id: string }>(`select app_id from rowhouse.idempotency_sizes('${after}')`);
    const all = await counted("00000000-0000-0000-0000-000000000000");
    const ids = await ask<{ id: string }>("select id from rowhouse.apps order by id");
    expect(all.map((entry) => entry.app_id)).toEqual(ids.map(({ id }) => id));
    const rest = await counted(all[1]?.app_id ?? "");
    expect(rest).toEqual(all.slice(2));
    expect(await counted(all.at(-1)?.app_id ?? "")).toEqual([]);
  });

  test("count with their uncompressed size", async () => {
    const full = await service.makeApp(schema);
    await post(freshKey(), { title: "x".repeat(14_000) }, TODOS, full);
    const [counted] = await ask<{ bytes: number }>(
      `select bytes::int4 as bytes from rowhouse.idempotency_sizes('00000000-0000-0000-0000-000000000000')
      where app_id = '${full.id}'`,
    );
    expect(counted?.bytes).toBeGreaterThan(14_000);
  });

  test("are limited: an app over the limit has no write in progress", async () => {
    const full = await service.makeApp(schema);
    const created = await post(freshKey(), { title: "one" }, TODOS, full);
    const { id } = created.json as { id: string };
    const key = freshKey();
    const update = () => send("PATCH", `${TODOS}/${id}`, { key, json: { title: "two" }, as: full });
    const waiting = async (count: number) =>
      (await countLockWaits(service.service.admin)) === count;
    let isOver = false;
    const responses = await whileRowLocked(service.database.adminUrl, id, async () => {
      const first = update();
      await eventually(() => waiting(1), { describe: () => "the first write's wait" });
      for (let status = 0; status !== 429; )
        ({ status } = await post(freshKey(), { title: "x".repeat(14_000) }, TODOS, full));
      const second = update().finally(() => (isOver = true));
      await eventually(async () => isOver || (await waiting(2)), {
        describe: () => "the second reply",
      });
      return { first, second };
    });
    const [first, second] = [await responses.first, await responses.second];
    expect([first.status, second.status, isReplayed(second)]).toEqual([200, 200, "true"]);
  });

  test("are limited: above the limit new keys are rejected, and stored keys are replayed", async () => {
    const full = await service.makeApp(schema);
    const first = freshKey();
    await post(first, { title: "first" }, TODOS, full);
    let last: TestResponse | undefined;
    for (let n = 0; n < 20 && last?.status !== 429; n++)
      last = await post(freshKey(), { title: "x".repeat(14_000) }, TODOS, full);
    expect([last?.status, last?.json]).toMatchObject([
      429,
      { error: "idempotency_full", message: expect.stringContaining("IDEMPOTENCY_BYTES") },
    ]);
    expect(last?.headers.get("retry-after")).toBe(String(IDEMPOTENCY_COUNT_S));
    expect(isReplayed(await post(first, { title: "first" }, TODOS, full))).toBe("true");
    const rows = await countRows(full);
    expect((await service.call(full, TODOS, { method: "POST", json: {} })).status).toBe(201);
    expect(await countRows(full)).toBe(rows + 1);
    expect((await post(freshKey(), {})).status).toBe(201);
  });
});

describe("a claim belongs to the app:", () => {
  const PRIVATE = { title: "private", data: [{ id: "no", app_id: "no" }] };
  const WRITES = [
    { name: "a create", json: PRIVATE, whole: { title: "private" } },
    {
      name: "a batch",
      json: [PRIVATE, { title: "private too" }],
      whole: { rows: [{ title: "private" }, {}] },
    },
    { name: "an update", json: { title: "private" }, whole: { title: "private", done: true } },
  ];
  const makeKey = async (scopes: readonly Scope[]) => {
    const order = { slug: app.slug, name: "other", scopes, expiresAt: undefined };
    const { text: key, keyId } = await issueKey(testDeps(service.service), order);
    return { as: { ...app, key }, keyId };
  };
  const makeWrite = async (json: object): Promise<(as: TestApp) => Promise<TestResponse>> => {
    const key = freshKey();
    if (!("title" in json) || "data" in json) return (as) => send("POST", TODOS, { key, json, as });
    const created = await post(freshKey(), { title: "open", done: true });
    const path = created.headers.get("location") ?? "";
    return (as) => send("PATCH", path, { key, json, as });
  };
  /** The response with only the ids of its rows. */
  const toIds = ({ json }: TestResponse) => {
    const { id, rows } = json as { id: string; rows?: { id: string }[] };
    return rows === undefined ? { id } : { rows: rows.map((row) => ({ id: row.id })) };
  };

  test.each(WRITES)("another key replays $name", async ({ json, whole }) => {
    const write = await makeWrite(json);
    const first = await write(app);
    expect(first.json).toMatchObject(whole);
    const reader = await makeKey(["data:read", "data:write"]);
    expect(toComparable(await write(reader.as))).toEqual(toComparable(first));
    const rolled = await rollKey(testDeps(service.service), reader.keyId, "0");
    expect(toComparable(await write({ ...app, key: rolled.text }))).toEqual(toComparable(first));
  });

  test.each(WRITES)("a key that cannot read rows gets only ids of $name", async ({ json }) => {
    const write = await makeWrite(json);
    const first = await write(app);
    const { as, keyId } = await makeKey(["data:write"]);
    const replayed = await write(as);
    expect(replayed.json).toEqual(toIds(first));
    expect(replayed.headers.get("preference-applied")).toBe("return=minimal");
    expect([replayed.status, isReplayed(replayed), replayed.headers.get("location")]).toEqual([
      first.status,
      "true",
      first.headers.get("location"),
    ]);
    expect(replayed.headers.get("etag")).toBeNull();
    await revokeKey(testDeps(service.service), keyId);
    expect((await write(as)).status).toBe(401);
  });

  test("a key that cannot read rows gets only ids in a group of creates", async () => {
    const key = freshKey();
    const first = await post(key, PRIVATE);
    const { as } = await makeKey(["data:write"]);
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, nth) => post(nth === 4 ? key : freshKey(), PRIVATE, TODOS, as)),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201));
    expect(responses[4]?.json).toEqual(toIds(first));
  });
});

test.each([
  { name: "create", count: 1 },
  { name: "batch", count: 3 },
])(
  "a connection that ends after any message loses no $name and creates none twice",
  async (sent) => {
    const own = await service.makeApp(schema);
    let created = 0;
    let cut = 0;
    for (let at = 1; at <= 12; at++) {
      for (const from of ["client", "server"] as const) {
        let number = 0;
        // Cut only the connection of the write: a failed connection attempt would lose nothing.
        let writing: number | undefined;
        proxy.onMessage((message) => {
          if (/_create/.test(message.statement ?? "")) writing ??= message.connection;
          if (message.from !== from || message.connection !== writing) return undefined;
          number++;
          if (number !== at) return undefined;
          cut++;
          return { failure: "reset" };
        });
        const row = { title: `${from} ${at}` };
        const json = sent.count === 1 ? row : Array.from({ length: sent.count }, () => row);
        const response = await post(freshKey(), json, TODOS, own);
        await proxy.heal();
        expect(response.status).toBe(201);
        created += sent.count;
      }
    }
    expect(cut).toBeGreaterThan(5);
    expect(await countRows(own)).toBe(created);
  },
);
