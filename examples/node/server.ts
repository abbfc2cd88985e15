/** The server of `hono.ts`, with pages by cursor and live rows, which need the previews `filters` and `live`. */
import { relayRows } from "rowhouse-client/live";
import { db } from "./db.ts";
import { app } from "./hono.ts";

app.get("/api/pages", async (c) => {
  const after = c.req.query("after") || undefined;
  return c.json(await db.todos.list({ limit: 20, after }));
});
app.get("/api/latest", (c) =>
  relayRows(
    (signal) =>
      db.todos.watch({
        where: { status: "open" },
        orderBy: [{ noted_at: "desc" }],
        limit: 100,
        signal,
      }),
    { signal: c.req.raw.signal },
  ),
);
async function* watchChanges(signal: AbortSignal) {
  for await (const { cursor } of db.todos.changes({ signal })) yield { rows: [], cursor };
}
app.get("/api/changes", (c) => relayRows(watchChanges, { signal: c.req.raw.signal }));
