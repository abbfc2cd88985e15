/**
 * The plain way, to be measured beside the service: Bun.serve and postgres.js as their documentation shows them, a
 * transaction a request that sets the tenant for row security, JSON built in JavaScript. Meant to be competent: prepared
 * statements, one pool, known keys in memory, the two statements of a transaction pipelined. It checks less than the
 * service does (no limits, no validation, no log), which makes it faster, not slower.
 *
 * @module
 */
import postgres from "postgres";

type Task = {
  id: string;
  app_id: string;
  title: string;
  status: string;
  done: boolean;
  position: string | null;
  price: string | null;
  notes: string | null;
  due_at: Date | null;
};

const KEY_LIFE_MS = 60_000;
const MAX_ROWS = 1000;
const sql = postgres(process.env["DATABASE_URL"] ?? "", {
  max: Number(process.env["DATABASE_POOL"]),
});
const keys = new Map<string, { appId: string; until: number }>();

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    "/v1/data/db/tasks": {
      GET: async (request) => {
        const appId = await authenticate(request);
        if (appId === undefined) return refuse(401, "unauthenticated");
        const { searchParams } = new URL(request.url);
        const limit = Math.min(Number(searchParams.get("limit") ?? MAX_ROWS), MAX_ROWS);
        const offset = Number(searchParams.get("offset") ?? 0);
        const rows = await asTenant(
          appId,
          (tx) => tx<
            Task[]
          >`select id, app_id, title, status, done, position, price, notes, due_at from data.tasks
            where app_id = ${appId} order by id limit ${limit + 1} offset ${offset}`,
        );
        const page = rows.slice(0, limit).map(toJson);
        return Response.json({ rows: page, limit, offset, hasMore: rows.length > limit });
      },
      POST: async (request) => {
        const appId = await authenticate(request);
        if (appId === undefined) return refuse(401, "unauthenticated");
        const task = { ...(await readTask(request)), id: Bun.randomUUIDv7(), app_id: appId };
        const [row] = await asTenant(
          appId,
          (tx) => tx<Task[]>`insert into data.tasks ${tx(task)}
            returning id, app_id, title, status, done, position, price, notes, due_at`,
        );
        return row === undefined
          ? refuse(500, "request_failed")
          : Response.json(toJson(row), { status: 201 });
      },
    },
    "/v1/data/db/tasks/:id": {
      GET: async (request) => {
        const appId = await authenticate(request);
        if (appId === undefined) return refuse(401, "unauthenticated");
        const [row] = await asTenant(
          appId,
          (tx) => tx<
            Task[]
          >`select id, app_id, title, status, done, position, price, notes, due_at from data.tasks
            where app_id = ${appId} and id = ${request.params.id}`,
        );
        return row === undefined ? refuse(404, "not_found") : Response.json(toJson(row));
      },
      PATCH: async (request) => {
        const appId = await authenticate(request);
        if (appId === undefined) return refuse(401, "unauthenticated");
        const change = await readTask(request);
        const [row] = await asTenant(
          appId,
          (tx) => tx<
            Task[]
          >`update data.tasks set ${tx(change)} where app_id = ${appId} and id = ${request.params.id}
            returning id, app_id, title, status, done, position, price, notes, due_at`,
        );
        return row === undefined ? refuse(404, "not_found") : Response.json(toJson(row));
      },
    },
  },
  fetch: () => refuse(404, "unknown_route"),
});
process.stdout.write(`${server.port}\n`);
for await (const _ of process.stdin);
await server.stop(true);
await sql.end({ timeout: 1 });
process.exit(0);

/** The rows of one statement in a transaction of the tenant; both statements travel together. */
async function asTenant(
  appId: string,
  statement: (tx: postgres.TransactionSql) => postgres.PendingQuery<Task[]>,
): Promise<Task[]> {
  const [, rows] = await sql.begin((tx) => [
    tx`select set_config('rowhouse.app_id', ${appId}, true)`,
    statement(tx),
  ]);
  return rows as Task[];
}

async function authenticate(request: Request): Promise<string | undefined> {
  const key = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
  const known = keys.get(key);
  if (known !== undefined && known.until > Date.now()) return known.appId;
  const [name, secret] = key.split(".");
  const hash = new Bun.CryptoHasher("sha256").update(secret ?? "").digest();
  const [row] = await sql<{ app_id: string }[]>`select app_id from rowhouse.api_keys
    where key_id = ${name?.split("_").at(-1) ?? ""} and secret_hash = ${hash} and revoked_at is null`;
  if (row === undefined) return undefined;
  keys.set(key, { appId: row.app_id, until: Date.now() + KEY_LIFE_MS });
  return row.app_id;
}

type Written = Partial<
  Pick<Task, "title" | "status" | "done" | "position" | "price" | "notes" | "due_at">
>;

async function readTask(request: Request): Promise<Written> {
  const { title, status, done, position, price, notes, due_at } = (await request.json()) as Written;
  const task: Written = {};
  if (title !== undefined) task.title = title;
  if (status !== undefined) task.status = status;
  if (done !== undefined) task.done = done;
  if (position !== undefined) task.position = position;
  if (price !== undefined) task.price = price;
  if (notes !== undefined) task.notes = notes;
  if (due_at !== undefined) task.due_at = due_at;
  return task;
}

function toJson(task: Task): unknown {
  return { ...task, position: task.position === null ? null : Number(task.position) };
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
