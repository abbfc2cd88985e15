/** Pipelined lists and walks: the calls that are pipelined, and no caller gets another caller's page despite modified responses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { directUrls } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { makeMessage } from "../support/postgres_protocol.ts";
import { type Action, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const schema = defineSchema({ todos: { title: t.string().index() } });
const TODOS = "/v1/data/db/todos";
const LARGE = "x".repeat(1_000);
/** The functions of short pages, and the rest of their queries. */
const ENDPOINTS = [
  { name: "list", previews: [], order: "" },
  { name: "walk", previews: ["filters"], order: "&order=title.asc" },
] as const;

describe.each(ENDPOINTS)("a $name", ({ name, previews, order }) => {
  let proxy: PostgresProxy;
  let service: TestService;
  let app: TestApp;
  let other: TestApp;
  const pipelines = new Set<number>();
  /** How each list was sent. */
  const sent: ("pipelined" | "separate")[] = [];
  /** Changes the rows that pipelined calls return. */
  let change: (row: Buffer) => Action | undefined = () => undefined;

  beforeAll(async () => {
    proxy = await openPostgresProxy();
    proxy.onMessage(({ connection, from, type, body, statement }) => {
      if (type === "" && /rowhouse( data)? pipeline/.test(body.toString("latin1")))
        pipelines.add(connection);
      const isPipelined = pipelines.has(connection);
      if (type === "B" && statement?.includes(`_${name}"`) === true)
        sent.push(isPipelined ? "pipelined" : "separate");
      return from === "server" && type === "D" && isPipelined ? change(body) : undefined;
    });
    service = await openTestService({
      ...{ connections: 10, toServingUrl: proxy.toUrl, cluster: directUrls() },
      service: { previews },
    });
    app = await makeApp("mine");
    other = await makeApp("theirs");
  });
  afterAll(async () => {
    await service.close();
    await proxy.close();
  });
  beforeEach(async () => {
    change = () => undefined;
    await untilOpen();
  });

  async function makeApp(title: string): Promise<TestApp> {
    const app = await service.makeApp(schema);
    for (let n = 0; n < 3; n++) await add(app, `${title} ${n}`);
    return app;
  }

  async function add(to: TestApp, title: string): Promise<void> {
    const created = await service.call(to, TODOS, { method: "POST", json: { title } });
    expect(created.status).toBe(201);
  }

  async function list(query = "?", of = app) {
    sent.length = 0;
    const { status, json, headers } = await service.call(of, `${TODOS}${query}${order}`);
    const { rows } = json as { rows: { title: string }[] };
    return {
      status,
      titles: rows.map(({ title }) => title),
      tag: headers.get("etag"),
      sent: [...sent],
    };
  }

  /** A list waits only briefly for its shared connection, which opens slowly on a busy machine. */
  async function untilOpen(): Promise<void> {
    await eventually(async () => (await list("?limit=1")).sent.join() === "pipelined");
  }

  describe("is read", () => {
    test("in one pipelined call if its page is short or was sent before", async () => {
      expect((await list("?limit=100")).sent).toEqual(["pipelined"]);
      expect((await list()).sent).toEqual(["separate"]);
      expect((await list()).sent).toEqual(["pipelined"]);
      await add(app, "mine, new");
      expect(await list()).toMatchObject({ sent: ["pipelined"], titles: { length: 4 } });
      // A walk has no offset.
      const far = await list("?limit=10&offset=5000");
      expect(far.sent).toEqual(name === "list" ? ["separate"] : []);
    });

    test("again on a separate connection if its page is large and has changed", async () => {
      const large = await service.makeApp(schema);
      for (let n = 0; n < 70; n++) await add(large, `${n} ${LARGE}`);
      expect((await list("?", large)).sent).toEqual(["separate"]);
      expect((await list("?", large)).sent).toEqual(["pipelined"]);
      await add(large, LARGE);
      expect(await list("?", large)).toMatchObject({
        sent: ["pipelined", "separate"],
        titles: { length: 71 },
      });
      const { sent, titles } = await list("?", large);
      expect([sent, titles.length]).toEqual([["pipelined"], 71]);
    });
  });

  describe("repeats its query if the pipelined response is", () => {
    test("another app's page", async () => {
      const right = await list("?limit=9");
      let theirs: Buffer | undefined;
      change = (row) => {
        theirs = Buffer.from(row);
        return undefined;
      };
      await list("?limit=9", other);
      const content: Buffer | undefined = theirs;
      if (content === undefined) throw new Error("Their page was not pipelined");
      const before = service.log.filter((line) => line.includes("response mismatch")).length;
      change = () => ({ send: [makeMessage("D", content)] });
      expect(await list("?limit=9")).toEqual({ ...right, sent: ["pipelined", "separate"] });
      expect(service.log.filter((line) => line.includes("response mismatch")).length).toBe(
        before + 1,
      );
    });

    test("missing", async () => {
      const right = await list("?limit=7");
      change = () => ({ send: [] });
      expect(await list("?limit=7")).toMatchObject({
        titles: right.titles,
        tag: right.tag,
        sent: ["pipelined", "separate"],
      });
    });
  });
});
