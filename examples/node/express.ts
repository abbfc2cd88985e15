/** The same checks with Express, as middleware. */
import { pipeline } from "node:stream/promises";
import express, { type NextFunction, type Request, type Response } from "express";
import { relayRows } from "rowhouse-client/live";
import { db } from "./db.ts";
import { toFailure } from "./failure.ts";
import { isOwnPage, REJECTIONS, readUser } from "./session.ts";

const app = express();

app.use("/api", express.json(), async (request, response, next) => {
  const isOwn = isOwnPage(request.method, request.get("origin"));
  const user = isOwn ? await readUser(request.get("cookie")) : 403;
  if (typeof user === "number") response.status(user).json({ message: REJECTIONS[user] });
  else next();
});

app.get("/api/todos", async (request, response) => {
  const offset = Number(request.query["offset"] ?? 0);
  response.json(await db.todos.list({ limit: 20, offset }));
});
app.post("/api/todos", async (request, response) => {
  response.status(201).json(await db.todos.create(request.body));
});
app.delete("/api/todos/:id", async (request, response) => {
  await db.todos.delete(request.params.id);
  response.status(204).end();
});

// Live rows for followRows or useLive. The headers keep compression() and proxies from holding events back.
app.get("/api/latest", async (_request, response) => {
  const { headers, body } = relayRows((signal) => db.todos.watch({ limit: 50, signal })); // the page that your page shows
  response.setHeaders(headers);
  if (body !== null) await pipeline(body, response).catch(() => undefined); // the browser has disconnected
});

// Express recognizes an error handler by its four parameters.
app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
  const { status, body } = toFailure(error);
  response.status(status).json(body);
});

app.use(express.static("dist"));

const port = Number(process.env["PORT"] ?? 3000);
app.listen(port, () => console.log(`Listening on port ${port}`));
