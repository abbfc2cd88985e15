/** The server with Hono: the session check, rows, and the built pages. */
import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import type { IdentityUser } from "rowhouse-client/identity";
import { db } from "./db.ts";
import { toFailure } from "./failure.ts";
import { isOwnPage, REJECTIONS, readUser } from "./session.ts";

export const app = new Hono<{ Variables: { user: IdentityUser } }>();

app.use("/api/*", async (c, next) => {
  const isOwn = isOwnPage(c.req.method, c.req.header("origin"));
  const user = isOwn ? await readUser(c.req.header("cookie")) : 403;
  if (typeof user === "number") return c.json({ message: REJECTIONS[user] }, user);
  c.set("user", user);
  await next();
});

app.get("/api/todos", async (c) => {
  const offset = Number(c.req.query("offset") ?? 0);
  return c.json(await db.todos.list({ limit: 20, offset }));
});
app.post("/api/todos", async (c) => c.json(await db.todos.create(await c.req.json()), 201));
app.delete("/api/todos/:id", async (c) => {
  await db.todos.delete(c.req.param("id"));
  return c.body(null, 204);
});

app.onError((error, c) => {
  const { status, body } = toFailure(error);
  return c.json(body, status);
});

// The built pages.
app.get("*", serveStatic({ root: "./dist" }));

const port = Number(process.env["PORT"] ?? 3000);
serve({ fetch: app.fetch, port }, () => console.log(`Listening on port ${port}`));
