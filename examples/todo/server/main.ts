/** The todo app in production: serves the built pages and the API. Settings come from the environment. @module */
import { join } from "node:path";
import { makeTodoServer } from "./server.ts";

const { ORIGIN, VITE_SERVICE_URL, VITE_SERVICE_APP, ROWHOUSE_API_KEY, PORT } = process.env;

if (!ORIGIN || !ROWHOUSE_API_KEY) {
  console.error(
    "Set ORIGIN (this app's own origin) and ROWHOUSE_API_KEY (scopes data:read, data:write)",
  );
  process.exit(2);
}

const server = Bun.serve({
  port: Number(PORT || 8788),
  fetch: makeTodoServer({
    origin: ORIGIN,
    serviceUrl: VITE_SERVICE_URL || "http://api.rowhouse.localhost:8787",
    app: VITE_SERVICE_APP || "todo",
    apiKey: ROWHOUSE_API_KEY,
    pages: join(import.meta.dirname, "..", "dist"),
  }),
});
console.log(`The todo app listens on port ${server.port} for ${ORIGIN}`);
