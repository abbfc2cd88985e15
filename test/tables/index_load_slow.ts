/**
 * Pushes of indexes on a table of many rows, while callers write and read it: no request fails, except as documented. Then lists use the indexes. `ROWS` names another number of rows.
 */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { openOnVersion, POSTGRES_VERSIONS } from "../support/postgres_versions.ts";
import { postSchema } from "../support/push.ts";
import type { TestApp, TestService } from "../support/service.ts";

const ROWS = Number(process.env["ROWS"] ?? 200_000);
const PART = 20_000;
const CALLERS = 4;
const PAUSE_MS = 20;
const TIMEOUT_MS = 1_500_000;
const BUILD_MS = 600_000;
const ITEMS = "/v1/data/db/items";

const columns = () => ({
  title: t.string().required(),
  tag: t.string(),
  status: t.enum(["open", "done", "lost"]).required(),
  price: t.decimal(),
  size: t.number(),
  due_at: t.timestamp(),
  // Makes the table large, so that its indexes are built after the pushes.
  note: t.string(),
});
const { tag, size, title, price, ...others } = columns();
const WITHOUT = defineSchema({ items: columns() });
/** In the order of the pushes. */
const PUSHES = [
  defineSchema({ items: t.model({ ...columns(), title: title.index() }) }),
  defineSchema({
    items: t
      .model({ ...columns(), title: title.index(), tag: tag.unique() })
      .index("status", "due_at"),
  }),
  defineSchema({
    items: t
      .model({
        ...others,
        title: title.index(),
        tag: tag.unique(),
        size: size.index(),
        price: price.index(),
      })
      .index("status", "due_at"),
  }),
];

/** Reads of callers. Without their index, those after the first two need one. */
const READS = [
  "limit=20",
  "order=id.desc&limit=20",
  "order=title&limit=20",
  "order=title.desc&limit=20&select=id,title",
  `tag=eq.tag ${ROWS / 2}`,
  "status=eq.open&order=due_at.desc&limit=20",
  "size=gte.500&order=size&limit=20",
  "order=price.desc&limit=20",
];
/** What a reader can get while an index is not built. */
const DOCUMENTED = ["timeout"];

type Load = {
  readonly failures: string[];
  readonly counts: Map<string, number>;
  readonly stored: Map<string, string>;
  stop: () => Promise<void>;
};

function startLoad(service: TestService, app: TestApp): Load {
  let isStopped = false;
  const load: Omit<Load, "stop"> = {
    failures: [],
    counts: new Map(),
    stored: new Map(),
  };
  const send = async (kind: string, path: string, call: { method?: string; json?: object }) => {
    const response = await service.call(app, path, call);
    const code = response.status < 400 ? "ok" : String(Object(response.json).error);
    const name = `${kind} ${code}`;
    load.counts.set(name, (load.counts.get(name) ?? 0) + 1);
    if (code !== "ok" && !(kind === "read" && DOCUMENTED.includes(code)))
      load.failures.push(`${name}: ${response.text}`);
    return code === "ok" ? Object(response.json) : undefined;
  };
  const call = async (caller: number) => {
    for (let n = 0; !isStopped; n++) {
      const text = `caller ${caller} ${n}`;
      const json = {
        ...{ title: text, tag: text, status: "open", price: `${n}.25`, size: n },
        due_at: "2026-02-01T00:00:00Z",
      };
      const row = await send("create", ITEMS, { method: "POST", json });
      if (row !== undefined) {
        load.stored.set(row.id, text);
        const changed = `${text} again`;
        const path = `${ITEMS}/${row.id}`;
        const updated = await send("update", path, { method: "PATCH", json: { title: changed } });
        if (updated !== undefined) load.stored.set(row.id, changed);
        // An update without a response can be stored.
        else load.stored.delete(row.id);
      }
      await send("read", `${ITEMS}?${READS[n % READS.length]}`, {});
      await Bun.sleep(PAUSE_MS);
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
  return Object.assign(load, {
    stop: async () => {
      isStopped = true;
      await callers;
    },
  });
}

async function fill(service: TestService, app: TestApp): Promise<void> {
  for (let start = 0; start < ROWS; start += PART)
    await readRows(
      service.service.admin,
      `insert into data.items (app_id, id, title, tag, status, price, size, due_at, note)
      select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'A title of a row ' || n, 'tag ' || n,
        (case when n % 100 = 0 then 'lost' when n % 3 = 0 then 'done' else 'open' end)::data.items__status__enum,
        n % 9999 + 0.25, n % 7777, timestamptz '2026-01-01Z' + n * interval '1 s', repeat('A note. ', 16)
      from generate_series($2::int4 + 1, $3::int4) n returning 1`,
      [app.id, start, Math.min(ROWS, start + PART)],
    );
}

test.each(POSTGRES_VERSIONS)(
  "indexes are built under load on $name",
  async ({ isDebian }) => {
    const service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    const { admin } = service.service;
    const app = await service.makeApp(WITHOUT);
    await fill(service, app);
    const waiting = async () => {
      const [row] = await readRows<{ count: number }>(
        admin,
        "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
      );
      return row?.count ?? 0;
    };
    const load = startLoad(service, app);
    await Bun.sleep(1000);
    const tookMs: number[] = [];
    for (const schema of PUSHES) {
      const startedAt = performance.now();
      const pushed = await postSchema(service, app, schema);
      expect([pushed.status, pushed.text]).toEqual([200, expect.any(String)]);
      await eventually(async () => (await waiting()) === 0, { patienceMs: BUILD_MS });
      tookMs.push(Math.round(performance.now() - startedAt));
    }
    expect(load.failures).toEqual([]);
    await Bun.sleep(1000);
    await load.stop();
    if (process.env["ROWS"] !== undefined) console.log({ tookMs, counts: [...load.counts] });
    expect(load.failures).toEqual([]);
    // Every read is served by its index, and every acknowledged row is there.
    for (const query of READS) {
      const { status, json } = await service.call(app, `${ITEMS}?${query}`);
      expect([query, status, Object(json).rows?.length > 0]).toEqual([query, 200, true]);
    }
    const stored = await readRows<{ id: string; title: string }>(
      admin,
      "select id::text, title from data.items where title like 'caller%'",
      [],
    );
    const titles = new Map(stored.map((row) => [row.id, row.title]));
    expect([...load.stored].filter(([id, text]) => titles.get(id) !== text)).toEqual([]);
    expect(load.stored.size).toBeGreaterThan(10);
    await service.close();
  },
  TIMEOUT_MS,
);
