/** Writes of many rows, with the generated types. Calls a service with the preview and prints the results. */
import createClient from "openapi-fetch";
import type { paths } from "./openapi.ts";

declare const process: { env: Record<string, string> };
declare const console: { log: (text: string) => void };
declare const crypto: { randomUUID: () => string };

const { CONTRACT_URL = "", CONTRACT_KEY } = process.env;
const client = createClient<paths>({
  baseUrl: CONTRACT_URL,
  headers: { authorization: `Bearer ${CONTRACT_KEY}` },
});
const STRINGS = "/v1/data/db/strings";
const REFS = "/v1/data/db/refs";

async function upsert(values: Record<string, string>) {
  const body = Object.entries(values).map(([single, wanted]) => ({ single, wanted }));
  const { data } = await client.POST(STRINGS, {
    body,
    params: { query: { onConflict: "single" } },
  });
  if (data === undefined || !("results" in data)) throw new Error("No results");
  return data;
}

await upsert({ a: "1", b: "2" });
const again = await upsert({ a: "1", b: "3", c: "4" });
const ignored = await client.POST(STRINGS, {
  body: { single: "a", wanted: "never" },
  params: { query: { onConflict: "single", existing: "ignore" } },
});
const wrong = await client.POST(STRINGS, {
  body: { wanted: "x" },
  params: { query: { onConflict: "wanted" } },
});

const [a = "", b = ""] = again.rows.map(({ id }) => id);
const stale = await client.PATCH(STRINGS, {
  body: [
    { id: a, wanted: "never" },
    { id: b, wanted: "never", ifMatch: '"old"' },
  ],
});
const updated = await client.PATCH(STRINGS, {
  body: [
    { id: b, wanted: "6" },
    { id: a, wanted: "5" },
  ],
});

const dry = await client.PATCH(STRINGS, {
  body: { usual: "later" },
  params: { query: { wanted: "in.(5,6)", dryRun: true } },
});
const changed = await client.PATCH(STRINGS, {
  body: { usual: "later" },
  params: { query: { wanted: "in.(5,6)", limit: 1 } },
});

await client.POST(REFS, { body: [{ plain: a }, { plain: b }] });
const listed = await client.GET(REFS, { params: { query: { "plain.single": "eq.a" } } });
const deleted = await client.DELETE(REFS, { params: { query: { "plain.single": "eq.a" } } });

const header = { "Idempotency-Key": crypto.randomUUID() };
const once = [];
for (let time = 0; time < 2; time++) {
  const { data } = await client.DELETE(STRINGS, { params: { query: { single: "eq.c" }, header } });
  once.push(data?.count);
}
const unconditional = await client.DELETE(STRINGS);

const countOf = (data: typeof changed.data) => (data && "count" in data ? data : undefined);
console.log(
  JSON.stringify({
    results: again.results,
    ignored: ignored.data && "wanted" in ignored.data ? ignored.data.wanted : undefined,
    wrong: wrong.error?.error,
    stale: stale.error?.error,
    updated:
      updated.data && "rows" in updated.data ? updated.data.rows.map((row) => row.wanted) : [],
    dry: [countOf(dry.data)?.count, countOf(dry.data)?.ids?.length],
    changed: [countOf(changed.data)?.count, countOf(changed.data)?.hasMore],
    listed: listed.data?.rows.length,
    deleted: deleted.data?.count,
    once,
    unconditional: unconditional.error?.error,
  }),
);
