/**
 * The upper limit for a server on Bun.serve and postgres.js: it only runs the service's own call. It knows the apps of keys
 * beforehand, and has no checks, limits, deadlines, log or queues.
 *
 * @module
 */
import postgres from "postgres";
import { LIST_BYTES } from "../src/data/mod.ts";
import { callText } from "../src/tables/catalog/mod.ts";
import { PROOF, TASKS } from "./stage.ts";

const apps = new Map(
  Object.entries(JSON.parse(process.env["BENCH_APPS"] ?? "{}") as Record<string, string>),
);
const sql = postgres(process.env["DATABASE_URL"] ?? "", {
  max: Number(process.env["DATABASE_POOL"]),
  fetch_types: false,
});
const CALL = callText(TASKS, "get");

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const app = apps.get(request.headers.get("authorization") ?? "") ?? "";
    const id = request.url.slice(request.url.lastIndexOf("/") + 1);
    const [row] = await sql.unsafe<{ body: string }[]>(CALL, [app, PROOF, id, LIST_BYTES, "echo"], {
      prepare: true,
    });
    return new Response(row?.body, { headers: { "content-type": "application/json" } });
  },
});
process.stdout.write(`${server.port}\n`);
for await (const _ of process.stdin);
await server.stop(true);
await sql.end({ timeout: 1 });
process.exit(0);
