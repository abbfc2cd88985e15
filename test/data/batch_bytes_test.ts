/** MAX_BATCH_BYTES: lists can be larger than a row, in one process and behind a gateway. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/notes";
const ONE = 102_400;
const MANY = 300_000;
const schema = defineSchema({ notes: { text: t.string().required(), extra: t.string() } });

describe.each(SHAPES)("%s", (shape) => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openTestService({ shape, service: { maxBatchBytes: MANY } });
    app = await service.makeApp(schema);
  });
  afterAll(() => service.close());

  /** A body of exactly this many bytes. */
  const listOf = (bytes: number, lead = "") => {
    const body = (text: string) => `${lead}[{"text":"${text}"}]`;
    return body("x".repeat(bytes - body("").length));
  };
  const rowOf = (bytes: number) => `{"text":"${"x".repeat(bytes - 11)}"}`;
  const send = (body: string, isChunked: boolean, method = "POST", path = LIST) =>
    service.call(app, path, {
      method,
      headers: { "content-type": "application/json" },
      body: isChunked ? streamOf(body) : body,
    });

  test.each([false, true])(
    "a list has its own limit, a row keeps its limit (chunked: %p)",
    async (isChunked) => {
      for (const lead of ["", " \n\t\r"]) {
        expect((await send(listOf(MANY, lead), isChunked)).status).toBe(201);
        const large = await send(listOf(MANY + 1, lead), isChunked);
        expect(large.json).toMatchObject({ error: "body_too_large" });
        expect(large.text).toContain(`${MANY} bytes`);
      }
      expect((await send(rowOf(ONE), isChunked)).status).toBe(201);
      for (const bytes of [ONE + 1, MANY, MANY + 1, 5_000_000]) {
        const large = await send(rowOf(bytes), isChunked);
        expect(large.json).toMatchObject({ error: "body_too_large" });
        expect(large.text).toContain(`${ONE} bytes`);
      }
    },
  );

  test("a client reads the limit from the service, and fills its calls", async () => {
    const { json } = await service.call(undefined, "/v1/openapi.json");
    expect(json).toMatchObject({ "x-rowhouse-max-batch-bytes": MANY });
    const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
    const calls: number[] = [];
    const values = Array.from({ length: 90 }, (_, index) => ({ text: `${index}`.padEnd(10_000) }));
    const rows = await db.notes.createAll(values, {
      onStored: (stored) => calls.push(stored.length),
    });
    expect(rows.map(({ text }) => text)).toEqual(values.map(({ text }) => text));
    expect(calls).toEqual([29, 29, 29, 3]);
  });
});

function streamOf(body: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(body);
  let start = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(start, start + 30_000));
      start += 30_000;
    },
  });
}
