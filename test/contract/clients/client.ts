/** An app with the generated types. Calls a service and prints the results. */
import createClient from "openapi-fetch";
import type { paths } from "./openapi.ts";

declare const process: { env: Record<string, string> };
declare const console: { log: (text: string) => void };

const { CONTRACT_URL = "", CONTRACT_KEY, CONTRACT_APP = "", CONTRACT_COOKIE } = process.env;
const client = createClient<paths>({
  baseUrl: CONTRACT_URL,
  headers: { authorization: `Bearer ${CONTRACT_KEY}` },
});

const { data: enums } = await client.POST("/v1/data/db/enums", { body: { wanted: "green" } });
// @ts-expect-error: the column has no such value
await client.POST("/v1/data/db/enums", { body: { wanted: "blue" } });
const { data: decimals } = await client.POST("/v1/data/db/decimals", { body: { wanted: "0.10" } });
const { data: jsons } = await client.POST("/v1/data/db/jsons", {
  body: { wanted: { nested: [1, "two", null] } },
});
await client.POST("/v1/data/db/numbers", { body: { wanted: 1.5 } });
await client.POST("/v1/data/db/booleans", { body: { wanted: false } });
await client.POST("/v1/data/db/uuids", { body: { wanted: crypto.randomUUID() } });
const { data: integers } = await client.POST("/v1/data/db/integers", {
  body: { wanted: -9007199254740991 },
});
const { data: dates } = await client.POST("/v1/data/db/dates", { body: { wanted: "0001-01-01" } });
// @ts-expect-error: a date is a text
await client.POST("/v1/data/db/dates", { body: { wanted: new Date(0) } });
const { data: timestamps } = await client.POST("/v1/data/db/timestamps", {
  body: { wanted: "2026-01-02T03:04:05Z" },
});

const { data: row } = await client.POST("/v1/data/db/strings", { body: { wanted: "first" } });
if (row === undefined || "rows" in row) throw new Error("No row was created");
await client.POST("/v1/data/db/refs", { body: { plain: row.id } });
const params = { path: { id: row.id } };

const got = await client.GET("/v1/data/db/strings/{id}", { params });
const etag = got.response.headers.get("etag") ?? "";
const list = await client.GET("/v1/data/db/strings", { params: { query: { limit: 10 } } });
const change = () =>
  client.PATCH("/v1/data/db/strings/{id}", {
    params: { ...params, header: { "If-Match": etag } },
    body: { wanted: "second" },
  });
const changed = await change();
const stale = await change();

const batch = await client.POST("/v1/data/db/strings", {
  params: { header: { "Idempotency-Key": crypto.randomUUID() } },
  body: [{ wanted: "third" }, { wanted: "fourth" }],
});
const { error: rejected } = await client.POST("/v1/data/db/strings", {
  // @ts-expect-error: not a text
  body: { wanted: 3 },
});
if (rejected?.error !== "validation_failed") throw new Error("Not rejected");
const missing = await client.DELETE("/v1/data/db/refs/{id}", { params: { path: { id: row.id } } });
const { data: parents } = await client.GET("/v1/data/db/refs");
const [ref] = parents?.rows ?? [];
if (ref === undefined) throw new Error("No reference was created");
const deletedRef = await client.DELETE("/v1/data/db/refs/{id}", {
  params: { path: { id: ref.id } },
});
const person = await client.GET("/v1/auth/me", {
  params: { query: { app: CONTRACT_APP } },
  headers: { cookie: CONTRACT_COOKIE },
});

console.log(
  JSON.stringify({
    created: {
      enum: enums !== undefined && "wanted" in enums ? enums.wanted : undefined,
      decimal: decimals !== undefined && "wanted" in decimals ? decimals.wanted : undefined,
      integer: integers !== undefined && "wanted" in integers ? integers.wanted : undefined,
      date: dates !== undefined && "wanted" in dates ? dates.wanted : undefined,
      timestamp: timestamps !== undefined && "wanted" in timestamps ? timestamps.wanted : undefined,
      json: jsons !== undefined && "wanted" in jsons ? jsons.wanted : undefined,
    },
    read: got.data?.wanted,
    listed: list.data?.rows.map(({ wanted }) => wanted),
    changed: changed.data?.wanted,
    stale: stale.error?.error,
    batch:
      batch.data !== undefined && "rows" in batch.data
        ? batch.data.rows.map(({ wanted }) => wanted)
        : undefined,
    rejected: { error: rejected.error, paths: rejected.details?.map(({ path }) => path) },
    deleted: deletedRef.response.status,
    missing: missing.error?.error,
    person: { role: person.data?.role },
  }),
);
