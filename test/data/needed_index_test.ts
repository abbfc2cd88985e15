/** The declaration in a message serves the request after a push of exactly that declaration. */
import { expect } from "bun:test";
import { readListQuery } from "../../src/data/query/list_query.ts";
import { explainNeededIndex } from "../../src/data/query/needed_index.ts";
import { planQuery } from "../../src/data/query/plan.ts";
import { MAX_WORK } from "../../src/data/query/text_work.ts";
import { QUOTAS, type TableDefinition } from "../../src/schema/mod.ts";
import { drawQuery, toParameters } from "../support/oracle/draw_query.ts";
import { drawWide } from "../support/oracle/draw_schema.ts";
import { fill } from "../support/oracle/fill.ts";
import { viewOf } from "../support/oracle/play.ts";
import { type ModelTable, SERVER } from "../support/oracle/rules.ts";
import { postDefinition } from "../support/push.ts";
import { makeRandom, pick } from "../support/random.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";
import { countRuns } from "../support/tier.ts";

const VISITS = 20;
const ROWS = 60;
/** Half of them have an index, and few of the others can have one. */
const QUERIES = 75;
const RELATED_QUERIES = 25;

const service = await share(
  openTestService({ service: { previews: ["filters"], maxVisits: VISITS } }),
);

async function push(app: TestApp, ...tables: readonly TableDefinition[]): Promise<void> {
  const listed = tables.map(({ name, columns, indexes, uniques }) => {
    return { name, columns, indexes, uniques };
  });
  const { status, text } = await postDefinition(service, app, { version: 1, tables: listed });
  expect([status, text]).toEqual([200, expect.any(String)]);
}

type Page = { rows?: object[]; next?: string | null; error?: string; message?: string };
type Declared = { columns: string[]; isWhole: boolean };

/** The columns of the declaration in a message, and whether the index has all conditions. */
function readDeclaration(message: string): Declared | undefined {
  const [, list] = /declare \.index\((.*?)\)(?:,| on )/.exec(message) ?? [];
  if (list === undefined) return undefined;
  return { columns: JSON.parse(`[${list}]`), isWhole: !message.includes("one by one") };
}

/** Whether a table can have no further index. */
function isFull({ columns, indexes, uniques }: TableDefinition): boolean {
  const singles = columns.filter(({ index, kind }) => index || kind === "ref");
  const all = [...singles, ...columns.filter(({ unique }) => unique), ...indexes, ...uniques];
  return all.length >= QUOTAS.indexesPerTable;
}

testUnlessCitus("a cluster has no query functions")(
  "a declared index from a message serves the same request",
  async () => {
    const seen = { cured: 0, whole: 0, others: new Set<string>() };
    for (let seed = 1; seed <= countRuns(80); seed++) {
      const random = makeRandom(seed);
      let table: ModelTable = { ...drawWide(random, `needed_${seed}`), allow: {} };
      const app = await service.makeApp();
      await push(app, table);
      const people = [crypto.randomUUID()];
      const filled = { service, app, random, people, pools: new Map(), tables: [table] };
      const state = await fill({ ...filled, state: new Map() }, { needed: ROWS });
      for (let count = 0; count < QUERIES; count++) {
        const person = { id: "", role: SERVER };
        const asker = { random, state, view: viewOf({ tables: [table], state, person }) };
        const query = { ...drawQuery(asker, table.name), limit: 7 };
        const parameters = toParameters(asker, query);
        // Skipped rows are visits too, so the offset leaves room for the page and the next row.
        if (random(4) === 0) parameters.set("offset", `${random(VISITS - 7)}`);
        const asked = `${parameters}`;
        const slow = planAsked(app, table, asked);
        if (!slow.isUnindexed) continue;
        const message = explainNeededIndex(slow.query, slow.table, {
          ...{ appId: app.id, person: undefined, missing: new Set<string>(), limitMs: 1000 },
        });
        const declared = readDeclaration(message);
        if (declared === undefined) {
          seen.others.add(message.split(/: | by |,/)[1] ?? "");
          continue;
        }
        if (isFull(table)) break;
        table = { ...table, indexes: [...table.indexes, declared.columns] };
        await push(app, table);
        const quick = planAsked(app, table, asked);
        const path = `/v1/data/db/${table.name}?${asked}`;
        const page = (await service.call(app, path)).json as Page;
        const { isUnindexed } = quick;
        expect({ asked, message, isUnindexed, found: page.message ?? "a page" }).toEqual({
          ...{ asked, message, isUnindexed: false, found: "a page" },
        });
        seen.cured++;
        if (!declared.isWhole) continue;
        seen.whole++;
        // Not a page that ended early.
        expect({ asked, isFull: page.next === null || page.rows?.length === 7 }).toEqual({
          asked,
          isFull: true,
        });
      }
    }
    expect(seen.cured).toBeGreaterThan(10);
    expect(seen.whole).toBeGreaterThan(2);
    expect(seen.others.size).toBeGreaterThan(2);
  },
);

/** The plan of a query string for a table as it is recorded. */
function planAsked(app: TestApp, { name, columns, indexes, uniques }: ModelTable, asked: string) {
  const definition = { name, columns, indexes, uniques };
  const table = { name, definition, whole: definition };
  const query = readListQuery(asked, definition);
  const options = { appId: app.id, missing: new Set<string>(), isCounted: false };
  const limits = { visits: VISITS, work: MAX_WORK };
  return {
    query,
    table,
    isUnindexed: planQuery(query, table, { ...options, ...limits }).isUnindexed,
  };
}

testUnlessCitus("a cluster has no query functions")(
  "a declared index from a message serves the same related rows",
  async () => {
    const seen = { cured: 0, others: new Set<string>() };
    for (let seed = 1; seed <= countRuns(30); seed++) {
      const random = makeRandom(seed);
      const [owners, drawn] = [`owners_${seed}`, drawWide(random, `owned_${seed}`)];
      const isPlain = { required: false, unique: false, index: false } as const;
      const owner = { ...isPlain, name: "owner", kind: "ref", table: owners } as const;
      const parent: TableDefinition = {
        ...drawn,
        ...{ name: owners, columns: [{ ...isPlain, name: "label", kind: "string" }] },
        ...{ indexes: [], uniques: [] },
      };
      let children: TableDefinition = { ...drawn, columns: [...drawn.columns, owner] };
      const app = await service.makeApp();
      await push(app, parent, children);
      const names = children.columns.map(({ name }) => name);
      for (let count = 0; count < RELATED_QUERIES; count++) {
        const way = pick(random, ["", ".desc"]);
        const keys = new Set([pick(random, names), pick(random, names)]);
        const order = [...keys].map((name) => `${name}${way}`).join(",");
        const path = `/v1/data/db/${owners}?select=label,${children.name}(id)&${children.name}.order=${order}`;
        const { status, json } = await service.call(app, path);
        if (status === 200) continue;
        const { error, message } = json as { error: string; message: string };
        const declared = readDeclaration(message);
        if (declared === undefined) {
          expect({ order, error }).toEqual({ order, error: "unsupported_query" });
          seen.others.add(message.split(/, | in /)[1] ?? "");
          continue;
        }
        if (isFull(children)) break;
        children = { ...children, indexes: [...children.indexes, declared.columns] };
        await push(app, parent, children);
        const cured = await service.call(app, path);
        expect({ order, message, status: cured.status }).toEqual({ order, message, status: 200 });
        seen.cured++;
      }
    }
    expect(seen.cured).toBeGreaterThan(10);
    expect(seen.others.size).toBeGreaterThan(1);
  },
);
