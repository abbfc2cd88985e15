/** The client and the states of rows and pages: conflicting writes, cached pages, watched pages. @module */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, type DataClient, DataError, etagOf } from "../../src/sdk/data.ts";
import { eventually } from "../support/eventually.ts";
import { openForwarder } from "../support/forwarder.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });

/** The requests that a proxy in front of the service received. */
const seen: { method: string; asked: string | null; status: number }[] = [];
let failures = 0;
/** Whether the proxy marks tags as weak, as nginx does when it compresses. */
let weakens = false;
const service = await share(openTestService());
const app = await service.makeApp(schema);
const proxy = await share(
  openForwarder(service.url, {
    before: () =>
      failures > 0 && failures-- > 0 ? new Response("away", { status: 503 }) : undefined,
    after: (response, { method, headers }) => {
      seen.push({ method, asked: headers.get("if-none-match"), status: response.status });
      const tag = response.headers.get("etag");
      if (weakens && tag !== null) response.headers.set("etag", `W/${tag}`);
      return response;
    },
  }),
);
const db = connect();

function connect(options: { cache?: boolean; retries?: number } = {}): DataClient<typeof schema> {
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  return createDataClient({ baseUrl, apiKey: app.key, schema, ...options });
}

const LOST = { status: 412, code: "precondition_failed", retryable: false };

describe("ifMatch", () => {
  test("works behind a proxy that marks tags as weak", async () => {
    weakens = true;
    const made = await db.todos.create({ title: "one" });
    const read = await db.todos.get(made.id);
    expect(etagOf(read)).toStartWith('"');
    await db.todos.update(made.id, { title: "two" }, { ifMatch: read });
    expect(db.todos.update(made.id, { title: "lost" }, { ifMatch: read })).rejects.toMatchObject(
      LOST,
    );
    const tag = `W/${etagOf(await db.todos.get(made.id))}`;
    await db.todos.delete(made.id, { ifMatch: tag });
    weakens = false;
  });

  test("accepts a row that get, create or update returned", async () => {
    const made = await db.todos.create({ title: "one" });
    const changed = await db.todos.update(made.id, { title: "two" }, { ifMatch: made });
    expect(db.todos.update(made.id, { title: "lost" }, { ifMatch: made })).rejects.toMatchObject(
      LOST,
    );
    expect(db.todos.delete(made.id, { ifMatch: made })).rejects.toMatchObject(LOST);
    const read = await db.todos.get(made.id);
    expect([read.title, etagOf(read)]).toEqual(["two", etagOf(changed)]);
    await db.todos.delete(made.id, { ifMatch: read });
    expect(db.todos.get(made.id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("accepts a separately stored tag", async () => {
    const made = await db.todos.create({ title: "one" });
    const tag = etagOf(made);
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    await db.todos.update(made.id, { title: "two" }, { ifMatch: tag });
    expect(db.todos.update(made.id, { title: "3" }, { ifMatch: tag })).rejects.toBeInstanceOf(
      DataError,
    );
    expect((await db.todos.update(made.id, { title: "4" }, { ifMatch: "*" })).title).toBe("4");
    expect(db.todos.update(made.id, { title: "5" }, { ifMatch: "no tag" })).rejects.toMatchObject({
      status: 400,
      code: "invalid_precondition",
    });
    await db.todos.delete(made.id);
  });

  test("rejects a row with an unknown state", async () => {
    const made = await db.todos.create({ title: "one" });
    const [listed] = (await db.todos.list()).rows;
    const message =
      "Cannot use this ifMatch: must be a row that get, create or update returned, or the text of an ETag";
    for (const ifMatch of [listed, { ...made }, "", "\u0000", null] as never[]) {
      expect(db.todos.update(made.id, { title: "lost" }, { ifMatch })).rejects.toThrow(
        new TypeError(message),
      );
    }
    expect((await db.todos.get(made.id)).title).toBe("one");
    await db.todos.delete(made.id);
  });
});

describe("cache", () => {
  test("does not request an unchanged page again, and each caller gets a copy", async () => {
    const keeping = connect({ cache: true });
    const made = await db.todos.create({ title: "one" });
    const first = await keeping.todos.list({ limit: 5 });
    first.rows.length = 0;
    seen.length = 0;
    const second = await keeping.todos.list({ limit: 5 });
    expect([seen.map(({ status }) => status), second.rows]).toEqual([[304], [made]]);
    await db.todos.update(made.id, { title: "two" });
    expect((await keeping.todos.list({ limit: 5 })).rows).toEqual([{ ...made, title: "two" }]);
    expect((await keeping.todos.list({ limit: 4 })).rows.length).toBe(1);
    await db.todos.delete(made.id);
    expect((await keeping.todos.list({ limit: 5 })).rows).toEqual([]);
  });

  test("stores nothing by default, and only the last of many pages", async () => {
    seen.length = 0;
    await db.todos.list();
    await db.todos.list();
    expect(seen.map(({ asked }) => asked)).toEqual([null, null]);
    const keeping = connect({ cache: true });
    for (let offset = 0; offset <= 100; offset++) await keeping.todos.list({ offset });
    seen.length = 0;
    await keeping.todos.list({ offset: 100 });
    await keeping.todos.list({ offset: 0 });
    expect(seen.map(({ status }) => status)).toEqual([304, 200]);
  });
});

describe("watch", () => {
  test("yields the page, then each change, and does not request an unchanged page again", async () => {
    const titles: string[][] = [];
    const made = await db.todos.create({ title: "one" });
    seen.length = 0;
    const hasPolled = () => seen.some(({ status }) => status === 304);
    let change: Promise<unknown> | undefined;
    for await (const { rows } of db.todos.watch({ everyMs: 5 })) {
      titles.push(rows.map(({ title }) => title));
      if (titles.length === 1) {
        change = eventually(hasPolled).then(() => db.todos.update(made.id, { title: "two" }));
      } else if (titles.length === 2) await db.todos.delete(made.id);
      else break;
    }
    await change;
    expect(titles).toEqual([["one"], ["two"], []]);
    const polls = seen.filter(({ method }) => method === "GET");
    expect(polls.filter(({ status }) => status === 200).length).toBe(3);
    expect(polls.filter(({ status }) => status === 304).length).toBeGreaterThan(0);
  });

  test("waits after temporary failures, and ends with any other failure", async () => {
    const watching = connect({ retries: 0 }).todos.watch({ everyMs: 5 });
    failures = 3;
    expect((await watching.next()).value?.rows).toEqual([]);
    const wrong = connect().todos.watch({ limit: -1, everyMs: 5 });
    expect(wrong.next()).rejects.toMatchObject({ code: "invalid_query" });
    await watching.return();
  });

  test("ends when its signal is aborted", async () => {
    const stop = new AbortController();
    const watching = db.todos.watch({ everyMs: 60_000, signal: stop.signal });
    await watching.next();
    const next = watching.next();
    stop.abort(new Error("enough"));
    expect(next).rejects.toThrow("enough");
  });

  test.each([0, -1, Number.NaN])("rejects a poll every %p ms", async (everyMs) => {
    expect(db.todos.watch({ everyMs }).next()).rejects.toThrow(
      new TypeError(`Cannot poll every ${everyMs} ms: everyMs must be a number above 0`),
    );
  });
});
