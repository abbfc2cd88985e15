/**
 * A competent plain server, to compare with the service: Bun.serve and postgres.js as in their documentation, one transaction
 * per request that sets the tenant for row security, JSON built in JavaScript. Uses prepared statements, one pool, known apps of
 * keys, and pipelines the two statements of a transaction. It has no limits, validation or log, which makes it faster than a
 * complete server.
 *
 * @module
 */
import postgres from "postgres";

type Task = { id: string; app_id: string; position: string | null; [column: string]: unknown };
type Statement = (tx: postgres.TransactionSql) => postgres.PendingQuery<Task[]>;
type PlainRequest = Request & { params: { id?: string } };

const MAX_ROWS = 1000;
const WRITABLE = ["title", "status", "done", "position", "price", "notes", "due_at"];
const apps = new Map(
  Object.entries(JSON.parse(process.env["BENCH_APPS"] ?? "{}") as Record<string, string>),
);
const sql = postgres(process.env["DATABASE_URL"] ?? "", {
  max: Number(process.env["DATABASE_POOL"]),
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    "/v1/data/db/tasks": {
      GET: authenticated(async (request, appId) => {
        const { searchParams } = new URL(request.url);
        const limit = Math.min(Number(searchParams.get("limit") ?? MAX_ROWS), MAX_ROWS);
        const offset = Number(searchParams.get("offset") ?? 0);
        const rows = await asTenant(
          appId,
          (tx) => tx<Task[]>`select * from data.tasks
            where app_id = ${appId} order by id limit ${limit + 1} offset ${offset}`,
        );
        const page = rows.slice(0, limit).map(toJson);
        return Response.json({ rows: page, limit, offset, hasMore: rows.length > limit });
      }),
      POST: authenticated(async (request, appId) => {
        const task = { ...(await readTask(request)), id: Bun.randomUUIDv7(), app_id: appId };
        const insert: Statement = (tx) => tx`insert into data.tasks ${tx(task)} returning *`;
        return respond(await asTenant(appId, insert), 201);
      }),
    },
    "/v1/data/db/tasks/:id": {
      GET: authenticated(async ({ params: { id = "" } }, appId) => {
        const find: Statement = (tx) =>
          tx`select * from data.tasks where app_id = ${appId} and id = ${id}`;
        return respond(await asTenant(appId, find), 200);
      }),
      PATCH: authenticated(async (request, appId) => {
        const { id = "" } = request.params;
        const change = await readTask(request);
        const update: Statement = (tx) =>
          tx`update data.tasks set ${tx(change)} where app_id = ${appId} and id = ${id} returning *`;
        return respond(await asTenant(appId, update), 200);
      }),
    },
  },
  fetch: () => reject(404, "unknown_route"),
});
process.stdout.write(`${server.port}\n`);
for await (const _ of process.stdin);
await server.stop(true);
await sql.end({ timeout: 1 });
process.exit(0);

/** Runs a statement in a transaction of the tenant, and returns its rows. Both statements are pipelined. */
async function asTenant(appId: string, statement: Statement): Promise<Task[]> {
  const [, rows] = await sql.begin((tx) => [
    tx`select set_config('rowhouse.app_id', ${appId}, true)`,
    statement(tx),
  ]);
  return rows as Task[];
}

function authenticated(handle: (request: PlainRequest, appId: string) => Promise<Response>) {
  return async (request: PlainRequest): Promise<Response> => {
    const appId = apps.get(request.headers.get("authorization") ?? "");
    return appId === undefined ? reject(401, "unauthenticated") : handle(request, appId);
  };
}

async function readTask(request: Request): Promise<Record<string, postgres.SerializableParameter>> {
  const sent = (await request.json()) as Record<string, postgres.SerializableParameter>;
  return Object.fromEntries(Object.entries(sent).filter(([name]) => WRITABLE.includes(name)));
}

function respond([row]: readonly Task[], status: number): Response {
  return row === undefined ? reject(404, "not_found") : Response.json(toJson(row), { status });
}

function toJson(task: Task): unknown {
  return { ...task, position: task.position === null ? null : Number(task.position) };
}

function reject(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
