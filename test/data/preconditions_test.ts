/** Entity tags: a reader with the current state gets no body, and a writer with a stale state changes nothing. @module */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  notes: {
    text: t.string().required(),
    amount: t.decimal(),
    at: t.timestamp(),
    data: t.json(),
    mood: t.enum(["good", "ünïque"]).default("good"),
  },
  bare: {},
});
const NOTES = "/v1/data/db/notes";
const MISSING = "00000000-0000-7000-8000-000000000000";

const service = await share(openTestService());
const app = await service.makeApp(schema);

type Row = { id: string; text: string };

const VALUES = {
  text: 'tä\u0001xt 🎈 "quoted"',
  amount: "12.3400",
  at: "2026-01-02T03:04:05.123456Z",
  data: { b: [1, null, "x"], a: { "": 1.5 } },
};

async function makeNote(json: object = VALUES): Promise<{ path: string; tag: string; row: Row }> {
  const created = await service.call(app, NOTES, { method: "POST", json });
  expect(created.status).toBe(201);
  const row = created.json as Row;
  return { path: `${NOTES}/${row.id}`, tag: tagOf(created), row };
}

function tagOf({ headers }: TestResponse): string {
  const tag = headers.get("etag") ?? "";
  expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
  return tag;
}

const read = (path: string, headers: Record<string, string> = {}) =>
  service.call(app, path, { headers });
const write = (path: string, json: object, headers: Record<string, string> = {}) =>
  service.call(app, path, { method: "PATCH", json, headers });
const remove = (path: string, headers: Record<string, string> = {}) =>
  service.call(app, path, { method: "DELETE", headers });

describe("a row's tag", () => {
  test("is the same on create, get and update, and differs for each state", async () => {
    const { path, tag } = await makeNote();
    expect(tagOf(await read(path))).toBe(tag);
    const updated = await write(path, { text: "other" });
    expect(tagOf(updated)).not.toBe(tag);
    expect(tagOf(await read(path))).toBe(tagOf(updated));
    const back = await write(path, { text: VALUES.text });
    expect(tagOf(back)).toBe(tag);
  });

  test("allows storing a response and revalidating it", async () => {
    const { path, tag } = await makeNote();
    for (const response of [await read(path), await read(path, { "if-none-match": tag })]) {
      expect(response.headers.get("cache-control")).toBe("private, no-cache, no-transform");
      expect(response.headers.get("vary")).toBe("Authorization, Accept-Encoding, Origin");
    }
  });
});

describe("If-None-Match", () => {
  test("does not send a state again that the reader has, for every format of its tag", async () => {
    const { path, tag } = await makeNote();
    const compressed = tag.replace(/"$/, '-gzip"');
    const formats: [sent: string, responded: string][] = [
      [tag, tag],
      [`W/${tag}`, tag],
      [`"x", ${tag}`, tag],
      [compressed, compressed],
      [tag.replace(/"$/, '-zstd"'), tag.replace(/"$/, '-zstd"')],
      ...["-br", "-deflate", "--gzip", ";gzip"].map((suffix): [string, string] => {
        const sent = tag.replace(/"$/, `${suffix}"`);
        return [sent, sent];
      }),
      ["*", tag],
      [`"a,b",${tag},`, tag],
    ];
    for (const [sent, responded] of formats) {
      const { status, text, headers } = await read(path, { "if-none-match": sent });
      expect([sent, status, text, headers.get("etag")]).toEqual([sent, 304, "", responded]);
    }
  });

  test("sends a changed row, and a row for another row's tag", async () => {
    const { path, tag } = await makeNote();
    const other = await makeNote({ text: "other" });
    expect((await read(path, { "if-none-match": other.tag })).status).toBe(200);
    await write(path, { text: "new" });
    const response = await read(path, { "if-none-match": tag });
    expect([response.status, (response.json as Row).text]).toEqual([200, "new"]);
  });

  test("returns 404 for a missing row", async () => {
    expect((await read(`${NOTES}/${MISSING}`, { "if-none-match": "*" })).status).toBe(404);
  });
});

describe("If-Match", () => {
  test("allows an update and a delete of a row in that state", async () => {
    const { path, tag } = await makeNote();
    const updated = await write(path, { text: "new" }, { "if-match": `"nonsense", ${tag}` });
    expect([updated.status, (updated.json as Row).text]).toEqual([200, "new"]);
    expect(
      (await remove(path, { "if-match": `${tagOf(updated).slice(0, -1)}-gzip"` })).status,
    ).toBe(204);
  });

  test("leaves a row in another state unchanged", async () => {
    const { path, tag } = await makeNote();
    const updated = await write(path, { text: "theirs" });
    for (const rejected of [
      await write(path, { text: "mine" }, { "if-match": tag }),
      await write(path, {}, { "if-match": tag }),
      await write(path, { text: "mine" }, { "if-match": `W/${tagOf(updated)}` }),
      await write(path, { text: "mine" }, { "if-match": '"a,b"' }),
      await write(path, { text: "mine" }, { "if-match": '""' }),
      await remove(path, { "if-match": tag }),
    ]) {
      expect([rejected.status, rejected.json]).toMatchObject([
        412,
        { error: "precondition_failed", message: expect.stringContaining("If-Match") },
      ]);
    }
    expect((await read(path)).text).toBe(updated.text);
  });

  test("compares the row even if the update has no columns", async () => {
    const { path, tag } = await makeNote();
    expect((await write(path, {}, { "if-match": tag })).status).toBe(200);
    const bare = await service.call(app, "/v1/data/db/bare", { method: "POST", json: {} });
    const barePath = `/v1/data/db/bare/${(bare.json as Row).id}`;
    expect((await write(barePath, {}, { "if-match": tag })).status).toBe(412);
    expect((await remove(barePath, { "if-match": tagOf(bare) })).status).toBe(204);
  });

  test("accepts any state for *, and returns 404 for a missing row", async () => {
    const { path, tag } = await makeNote();
    expect((await write(path, { text: "new" }, { "if-match": "*" })).status).toBe(200);
    for (const ifMatch of ["*", tag]) {
      expect(
        (await write(`${NOTES}/${MISSING}`, { text: "x" }, { "if-match": ifMatch })).status,
      ).toBe(404);
      expect((await write(`${NOTES}/${MISSING}`, {}, { "if-match": ifMatch })).status).toBe(404);
      expect((await remove(`${NOTES}/${MISSING}`, { "if-match": ifMatch })).status).toBe(404);
    }
    expect((await remove(path, { "if-match": "*" })).status).toBe(204);
  });

  test("accepts only one of several parallel writes for the same state", async () => {
    const { path, tag } = await makeNote();
    for (let round = 0, seen = tag; round < 20; round++) {
      const tries = ["a", "b", "c", "d"].map((by) =>
        write(path, { text: `${by}${round}` }, { "if-match": seen }),
      );
      const responses = await Promise.all(tries);
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
      const now = await read(path);
      expect(responses.find(({ status }) => status === 200)?.text).toBe(now.text);
      seen = tagOf(now);
    }
  });

  test("returns 404 for a row of another app, not 412", async () => {
    const other = await service.makeApp(schema);
    const { path, tag } = await makeNote();
    for (const ifMatch of ["*", tag, '"x"']) {
      const response = await service.call(other, path, {
        method: "PATCH",
        json: { text: "stolen" },
        headers: { "if-match": ifMatch },
      });
      expect(response.status).toBe(404);
    }
  });
});

describe("an invalid header", () => {
  const MALFORMED = [
    "",
    "x",
    '"x',
    'x"',
    '"a" "b"',
    "W/x",
    'w/"x"',
    '*, "x"',
    '"x", *',
    "**",
    '"a b"',
    ",",
    "'x'",
  ];
  test.each(MALFORMED)("%p", async (text) => {
    const { path } = await makeNote();
    for (const [response, name] of [
      [await read(path, { "if-none-match": text }), "If-None-Match"],
      [await write(path, { text: "x" }, { "if-match": text }), "If-Match"],
      [await remove(path, { "if-match": text }), "If-Match"],
    ] as const) {
      expect([response.status, response.json]).toMatchObject([
        400,
        {
          error: "invalid_precondition",
          message: expect.stringContaining(`Cannot read ${name}: `),
        },
      ]);
    }
    expect((await read(path)).status).toBe(200);
  });

  test("is rejected after the id check and before the body check", async () => {
    const bad = { "if-match": "x" };
    expect((await write(`${NOTES}/no-id`, {}, bad)).json).toMatchObject({ error: "invalid_id" });
    const response = await service.call(app, `${NOTES}/${MISSING}`, {
      method: "PATCH",
      body: "x",
      headers: bad,
    });
    expect(response.json).toMatchObject({ error: "invalid_precondition" });
  });
});
