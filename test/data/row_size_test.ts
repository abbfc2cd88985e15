/** Rows at the max response size: writes at the limit, and reads of larger rows that an operator inserted. */
import { beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const MAX = 65_536;
const LIST = "/v1/data/db/notes";
const SCHEMA = defineSchema({
  notes: { title: t.string(), body: t.string(), meta: t.json(), price: t.decimal() },
});

let app: TestApp;
const service = await share(openTestService({ service: { maxResponseBytes: MAX } }));

const send = (method: string, path: string, json?: unknown) =>
  service.call(app, path, { method, ...(json === undefined ? {} : { json }) });
const errorOf = ({ status, json }: TestResponse) => [status, (json as { error?: string }).error];
type Page = { rows: { id: string; title: string }[]; hasMore: boolean };

describe("a write", () => {
  beforeAll(async () => {
    app = await service.makeApp(SCHEMA);
  });

  test("creates a row of the max response size, and rejects a row one byte larger", async () => {
    const empty = await send("POST", LIST, { title: "" });
    const room = MAX - Buffer.byteLength(empty.text);
    const created = await send("POST", LIST, { title: "x".repeat(room) });
    expect([created.status, Buffer.byteLength(created.text)]).toEqual([201, MAX]);
    const path = created.headers.get("location") ?? "";
    expect((await send("GET", path)).text).toBe(created.text);
    const before = (await send("GET", LIST)).text;

    for (const rejected of [
      await send("POST", LIST, { title: "x".repeat(room + 1) }),
      // The character has six bytes as JSON, and one byte in the request and in storage.
      await send("POST", LIST, { title: "\u0001".repeat(room / 5) }),
      await send("PATCH", path, { title: "x".repeat(room + 1) }),
      await send("PATCH", path, { body: "longer than null" }),
      await send("PATCH", path, { price: "1.5" }),
    ]) {
      expect(errorOf(rejected)).toEqual([422, "validation_failed"]);
      expect(rejected.text).toContain(String(MAX));
      expect(rejected.text).toContain("nothing was written");
    }
    expect((await send("GET", LIST)).text).toBe(before);
    expect((await send("PATCH", path, { title: "small", body: "x" })).status).toBe(200);
  });

  test("that fills several columns separately is also limited", async () => {
    const created = await send("POST", LIST, { title: "x".repeat(30_000) });
    const path = created.headers.get("location") ?? "";
    expect((await send("PATCH", path, { body: "x".repeat(30_000) })).status).toBe(200);

    const rejected = await send("PATCH", path, { meta: ["x".repeat(30_000)] });

    expect(errorOf(rejected)).toEqual([422, "validation_failed"]);
    expect((await send("GET", path)).json).toMatchObject({ meta: null });
  });
});

/** Returns the id of the nth row of an app, in the order of lists. */
const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;

describe.each([
  { name: "text", value: `repeat('a', 200000), null, null` },
  {
    name: "incompressible text",
    value: `(select string_agg(md5(i::text), '') from generate_series(1, 6000) i), null, null`,
  },
  { name: "compressible json", value: `null, null, to_jsonb(array_fill(1, array[100000]))` },
  { name: "several columns", value: `repeat('a', 40000), repeat('b', 40000), null` },
])("a row of $name that an operator enlarged beyond the limit", ({ value }) => {
  beforeAll(async () => {
    app = await service.makeApp(SCHEMA);
    await service.service.admin.message(`
      insert into data.notes (app_id, id, title) select '${app.id}', id::uuid, 'small'
        from unnest(array['${[1, 2, 4, 5].map(idOf).join("', '")}']) as id;
      insert into data.notes (app_id, id, title, body, meta) select '${app.id}'::uuid, '${idOf(3)}'::uuid, ${value};
      select 1`);
  });

  test("gets an error with its id", async () => {
    for (const response of [
      await send("GET", `${LIST}/${idOf(3)}`),
      await send("PATCH", `${LIST}/${idOf(3)}`, {}),
    ]) {
      expect(errorOf(response)).toEqual([500, "response_too_large"]);
      expect(response.text).toContain(idOf(3));
      expect(response.text.length).toBeLessThan(500);
    }
    expect(service.log.filter((line) => line.includes('"bug"'))).toEqual([]);
  });

  test("ends a list before it, and an offset past the row skips it", async () => {
    for (const limit of [3, 50, 1000]) {
      const before = await send("GET", `${LIST}?limit=${limit}`);
      const page = before.json as Page;
      expect(page.rows.map(({ id }) => id)).toEqual([idOf(1), idOf(2)]);
      expect(page.hasMore).toBe(true);
    }
    for (const limit of [1, 50, 1000]) {
      const at = await send("GET", `${LIST}?limit=${limit}&offset=2`);
      expect(errorOf(at)).toEqual([500, "response_too_large"]);
      expect(at.text).toContain(idOf(3));
    }
    const behind = (await send("GET", `${LIST}?offset=3`)).json as Page;
    expect([behind.rows.map(({ id }) => id), behind.hasMore]).toEqual([[idOf(4), idOf(5)], false]);
  });

  test("is repaired only by a write that makes the row small enough", async () => {
    const path = `${LIST}/${idOf(3)}`;
    expect(errorOf(await send("PATCH", path, { price: "1" }))).toEqual([422, "validation_failed"]);
    const mended = await send("PATCH", path, { title: "t", body: "b", meta: 1 });
    expect(mended.json).toMatchObject({ id: idOf(3), title: "t", price: null });
    expect(((await send("GET", LIST)).json as Page).rows.length).toBe(5);
    expect((await send("DELETE", path)).status).toBe(204);
  });
});
