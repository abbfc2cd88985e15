/** The declaration in a needs_index message serves the request after a push of exactly that declaration. */
import { afterAll, beforeAll, expect } from "bun:test";
import type { TableDefinition } from "../../src/schema/mod.ts";
import { createDataClient, DataError } from "../../src/sdk/data.ts";
import { postDefinition } from "../support/push.ts";
import { drawQuery, drawTable, fill, makeRandom } from "../support/query_fuzz.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";
import { countRuns } from "../support/tier.ts";

const VISITS = 20;
const ROWS = 60;
const QUERIES = 25;
/** Of 16. */
const MAX_INDEXES = 12;

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"], maxVisits: VISITS } });
});
afterAll(() => service.close());

async function push(app: TestApp, table: TableDefinition): Promise<void> {
  const { status, text } = await postDefinition(service, app, { version: 1, tables: [table] });
  expect([status, text]).toEqual([200, expect.any(String)]);
}

type Page = { rows: object[]; next?: string | null };
type Declared = { columns: string[]; isWhole: boolean };

/** The columns of the declaration in a message, and whether the index has all conditions. */
function readDeclaration(message: string): Declared | undefined {
  const [, list] = /declare \.index\((.*?)\),/.exec(message) ?? [];
  if (list === undefined) return undefined;
  return { columns: JSON.parse(`[${list}]`), isWhole: !message.includes("one by one") };
}

testUnlessCitus("a cluster has no query functions")(
  "a declared index from a message serves the same request",
  async () => {
    const seen = { cured: 0, whole: 0, others: new Set<string>() };
    for (let seed = 1; seed <= countRuns(80); seed++) {
      const random = makeRandom(seed);
      let table = drawTable(random, `needed_${seed}`);
      const app = await fill(service, { table, rows: ROWS, random });
      const client = createDataClient({
        baseUrl: service.url,
        apiKey: app.key,
      }) as unknown as Record<string, { list: (query: object) => Promise<Page> }>;
      const list = async (query: object): Promise<Page | DataError> => {
        try {
          return await (client[table.name]?.list(query) ?? Promise.reject(new Error("no table")));
        } catch (error) {
          if (error instanceof DataError && error.code === "needs_index") return error;
          throw error;
        }
      };
      const ids = ((await list({ limit: 5 })) as { rows: { id: string }[] }).rows.map(
        ({ id }) => id,
      );
      for (let count = 0; count < QUERIES; count++) {
        const query = { ...drawQuery(table, ids, random), limit: 7 };
        const asked = random(4) === 0 ? { ...query, offset: random(VISITS) } : query;
        const rejected = await list(asked);
        if (!(rejected instanceof DataError)) continue;
        const declared = readDeclaration(rejected.message);
        if (declared === undefined) {
          seen.others.add(rejected.message.split(/: | by |,/)[1] ?? "");
          continue;
        }
        if (table.indexes.length >= MAX_INDEXES) break;
        table = { ...table, indexes: [...table.indexes, declared.columns] };
        await push(app, table);
        const page = await list(asked);
        const found = page instanceof DataError ? page.message : "a page";
        expect({ asked, message: rejected.message, found }).toMatchObject({ found: "a page" });
        seen.cured++;
        if (!declared.isWhole || page instanceof DataError) continue;
        seen.whole++;
        // Not a page that ended early.
        expect({ asked, isFull: page.next === null || page.rows.length === 7 }).toEqual({
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
