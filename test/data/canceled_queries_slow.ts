/**
 * How soon a query that takes too long ends in PostgreSQL: while it compares rows, sorts or groups them, or before it writes, on a
 * connection of the service or of PgBouncer in transaction mode.
 */
import { describe, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { clusterUrls, LOGIN, PASSWORD, PUSH_LOGIN } from "../support/cluster.ts";
import { PGBOUNCER, startPooler } from "../support/pgbouncer.ts";
import { type Call, openTestService, type TestApp, type TestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

const ROWS = isFull() ? 1_000_000 : 200_000;
const LIMIT_MS = 100;
/** A session can be seen up to this long after its statement has ended. */
const LOOK_MS = 5;
/** Far more than PostgreSQL needs, on a machine with other work. */
const MAX_MS = 1000;
const NOTES = "/v1/data/db/notes";
const SCHEMA = defineSchema({ notes: { body: t.string().required(), label: t.string() } });
/** Each letter of a pattern is looked for from each place where the one before it is. */
const LIKE = ["body", "label"].map((name) => `${name}.ilike.*9*8*7*6*z*`).join(",");
const REQUESTS: Readonly<Record<string, [string, Call?]>> = {
  comparing: [`${NOTES}?or=(${LIKE})`],
  sorting: [`${NOTES}?order=body.desc,label&offset=${ROWS - 1}`],
  grouping: [`${NOTES}/groups?by=body,label`],
  "finding what to write": [`${NOTES}?or=(${LIKE})`, { method: "DELETE" }],
};

async function fill(service: TestService): Promise<TestApp> {
  const app = await service.makeApp(SCHEMA);
  await service.service.admin.message(
    `insert into data.notes (app_id, id, body, label) select '${app.id}', gen_random_uuid(),
      repeat(md5(n::text), 8), repeat(md5((-n)::text), 8) from generate_series(1, ${ROWS}) as n;
    analyze data.notes; select 1`,
    { timeoutMs: 600_000 },
  );
  return app;
}

/** How long after its limit the statement of a request ended, as another session sees it. */
async function measure(
  service: TestService,
  send: () => Promise<{ status: number; text: string }>,
): Promise<number> {
  let isOver = false;
  let lateMs = Number.NEGATIVE_INFINITY;
  const answer = send().finally(() => {
    isOver = true;
  });
  for (let isSeen = true; isSeen || !isOver; ) {
    const [row] = await readRows<{ age_ms: number }>(
      service.service.admin,
      `select extract(epoch from clock_timestamp() - query_start)::float8 * 1000 as age_ms
       from pg_stat_activity where state = 'active' and datname = current_database()
         and position('take_unindexed_turn' in query) > 0 and pid <> pg_backend_pid()`,
    );
    isSeen = row !== undefined;
    if (row !== undefined) lateMs = Math.max(lateMs, row.age_ms - LIMIT_MS);
    await Bun.sleep(LOOK_MS);
  }
  const { status, text } = await answer;
  expect([status, text]).toEqual([504, expect.any(String)]);
  return lateMs;
}

const WAYS = ["directly", "through PgBouncer"] as const;

describe.each(WAYS.filter((way) => way === "directly" || PGBOUNCER !== null))("%s", (way) => {
  test("a query ends soon after its limit", async () => {
    await using stack = new AsyncDisposableStack();
    const admin = clusterUrls()?.admin ?? "";
    const { username, password } = new URL(admin);
    const users = {
      ...{ [username]: decodeURIComponent(password), [LOGIN]: PASSWORD, [PUSH_LOGIN]: PASSWORD },
    };
    const pooler =
      way === "directly"
        ? undefined
        : await startPooler(admin, { poolSize: 4, clients: 20, users });
    if (pooler !== undefined) stack.defer(() => pooler.close());
    const service = await openTestService({
      ...{ shape: "one", prepare: pooler === undefined },
      toServingUrl: (url) => pooler?.toUrl(url) ?? url,
      service: {
        ...{ previews: ["filters"], queryTimeoutS: LIMIT_MS / 1000 },
        unindexedLimits: { timeoutMs: LIMIT_MS, msAMinute: 3_600_000 },
      },
    });
    stack.defer(() => service.close());
    const app = await fill(service);
    const late: [string, number[]][] = [];
    for (const [name, [path, request = {}]] of Object.entries(REQUESTS)) {
      const measured: number[] = [];
      for (let round = 0; round < 3; round++)
        measured.push(await measure(service, () => service.call(app, path, request)));
      late.push([name, measured]);
    }
    for (const [name, measured] of late)
      console.log(`${way}, ${name}: ${measured.map((ms) => ms.toFixed(0)).join(", ")} ms late`);
    expect(late.flatMap(([, measured]) => measured).filter((ms) => ms > MAX_MS)).toEqual([]);
  }, 300_000);
});
