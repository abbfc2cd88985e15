/** Lists with conditions, with the generated types. Calls a service with the preview and prints the results. */
import createClient from "openapi-fetch";
import type { paths } from "./openapi.ts";

declare const process: { env: Record<string, string> };
declare const console: { log: (text: string) => void };

const { CONTRACT_URL = "", CONTRACT_KEY } = process.env;
const client = createClient<paths>({
  baseUrl: CONTRACT_URL,
  headers: { authorization: `Bearer ${CONTRACT_KEY}` },
});

await client.POST("/v1/data/db/strings", {
  body: [{ wanted: "first" }, { wanted: "second" }, { wanted: "third" }, { wanted: "fourth" }],
});
const list = await client.GET("/v1/data/db/strings", {
  params: { query: { wanted: "like.*ir*", limit: 1 } },
});
const [first] = list.data?.rows ?? [];
const found = await client.GET("/v1/data/db/strings", {
  params: { query: { wanted: "in.(second,third,first)", order: "wanted.desc", limit: 2 } },
});
await client.GET("/v1/data/db/strings", {
  // @ts-expect-error: the table has no such column
  params: { query: { lost: "eq.1" } },
});

console.log(
  JSON.stringify({
    listed: found.data?.rows.map(({ wanted }) => wanted),
    hasNext: typeof found.data?.next === "string",
    one: [first?.wanted],
  }),
);
