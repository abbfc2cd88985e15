/**
 * Clients create, read, change and list rows while random statements of the service are canceled in the database. No existing
 * row is missing from a response, and every error is documented for a canceled statement.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const SECONDS = countRuns(15);
const CLIENTS = 24;
const TODOS = "/v1/data/db/todos";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({ connections: 10, shape: "one" });
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

type Row = { id: string; title: string };
type Client = { row: Row; count: (result: string) => void };

const call = (path: string, method = "GET", json?: object) =>
  service.call(app, path, { method, ...(json === undefined ? {} : { json }) });

/** Returns `right` if a response contains the row, else its status. */
function toResult({ status, json }: Awaited<ReturnType<typeof call>>, row: Row): string {
  if (status >= 400) return `${status} ${(json as { error: string }).error}`;
  const { id, title } = json as Row;
  return id === row.id && title === row.title ? "right" : "another row";
}

async function readTurn({ row, count }: Client): Promise<void> {
  const title = crypto.randomUUID();
  const created = await call(TODOS, "POST", { title });
  const { id } = created.json as Row;
  count(`create: ${toResult(created, { id, title })}`);
  if (created.status === 201)
    count(`get: ${toResult(await call(`${TODOS}/${id}`), { id, title })}`);
  const next = crypto.randomUUID();
  const changed = await call(`${TODOS}/${row.id}`, "PATCH", { title: next });
  count(`patch: ${toResult(changed, { id: row.id, title: next })}`);
  const listed = await call(`${TODOS}?limit=5`);
  const { rows = [] } = listed.json as { rows?: Row[] };
  count(
    `list: ${listed.status === 200 && rows.length === 5 ? "right" : `${listed.status} ${(listed.json as { error?: string }).error}`}`,
  );
}

/** Cancels running statements of the service until stopped. `stop` returns how many. */
function startCanceling(): { stop: () => Promise<number> } {
  let isOver = false;
  const canceling = (async () => {
    let canceled = 0;
    while (!isOver) {
      const rows = await service.service.admin.query<{ canceled: boolean }>(
        `select pg_cancel_backend(pid) as canceled from (
          select pid from pg_stat_activity
          where usename <> current_user and datname = current_database() and state = 'active'
          order by random() limit 2 offset 0) as running`,
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
      canceled += rows.length;
    }
    return canceled;
  })();
  return {
    stop: async () => {
      isOver = true;
      return await canceling;
    },
  };
}

test("canceled statements never make a row disappear", async () => {
  const results = new Map<string, number>();
  const count = (result: string) => void results.set(result, (results.get(result) ?? 0) + 1);
  const rows = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const created = await call(TODOS, "POST", { title: "first" });
      return created.json as Row;
    }),
  );
  const endsAt = performance.now() + SECONDS * 1000;
  const canceling = startCanceling();
  await Promise.all(
    rows.map(async (row) => {
      while (performance.now() < endsAt) await readTurn({ row, count });
    }),
  );
  const canceled = await canceling.stop();
  const line = [...results].toSorted().map(([result, times]) => `${times} × ${result}`);
  console.log(`${canceled} cancels: ${line.join(", ")}`);
  const allowed = /^(create|get|patch|list): (right|503 unavailable)$/;
  expect([...results.keys()].filter((result) => !allowed.test(result))).toEqual([]);
  expect(results.get("create: right")).toBeGreaterThan(countRuns(100));
  expect(canceled).toBeGreaterThan(countRuns(100));
}, 60_000);
