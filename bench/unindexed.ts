/**
 * `bench unindexed`: others' requests before and while one app sends conditions that no index serves, to one process and to four
 * workers. 300 callers send them all the time, and wait a second after a rejection.
 *
 * @module
 */
import { loadavg } from "node:os";
import { type Database, SERVICE_QUEUE } from "../src/db/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import { makeProject, startCommand } from "../test/support/command.ts";
import { TEST_IDENTITY_SECRET } from "../test/support/deps.ts";
import { findFreePort } from "../test/support/free_port.ts";
import { appIdSql, rowId, rowIdSql } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { alternate, median, percentile } from "./rounds.ts";
import { type Stage, type StageApp, withStage } from "./stage.ts";

const SENDERS = 300;
const OTHERS = { apps: 8, rows: 1000 };
/** Between two requests of a caller of another app. */
const THINK_MS = 15;
const REJECTED_MS = 1000;
const POOL = 10;
/** Before the first phase: sessions compile functions. */
const WARM_MS = 3000;
const FILL_MS = 3_600_000;
const TASKS = "/v1/data/db/tasks";
/** Rows that few conditions find, in any order; some are quick. */
const CONDITIONS = [
  "title=ilike.*nothing*",
  "notes=ilike.*r*s*o*t*h*z*&limit=5",
  "order=notes.desc&limit=20",
  "order=title,due_at.desc&offset=5000&limit=20",
  "done=eq.true&order=title.desc",
  "or=(title.ilike.*9*9*9*,notes.ilike.*q*)&order=price",
  "price=gt.100&title=like.*5",
  "notes=ilike.*roses*&limit=1",
];
const GROUPS = ["groups?by=done&sum=price", "groups?by=title"];

type Phase = {
  count: number;
  p50Ms: number;
  p99Ms: number;
  /** Responses of others with another status than 200, by status. */
  failures: Readonly<Record<string, number>>;
  load: number;
};
type Measured = { before: Phase; during: Phase; sent: Readonly<Record<string, number>> };
type UnindexedResult = {
  rows: number;
  rounds: number;
  seconds: number;
  minutes: number;
  sides: Readonly<Record<string, readonly Measured[]>>;
};

const SIDES = { "one process": 1, "four workers": 4 } as const;

export async function benchUnindexed(options: BenchOptions): Promise<UnindexedResult> {
  const { rows, rounds, seconds, minutes } = options;
  return await withStage({ apps: 1 + OTHERS.apps, rows: OTHERS.rows }, async (stage) => {
    await withDatabase(stage.database.adminUrl, (admin) => fillSender(admin, rows));
    const sides = Object.fromEntries(
      Object.entries(SIDES).map(([name, workers]) => [
        name,
        () => measure(stage, workers, { seconds, minutes }),
      ]),
    );
    const done = await alternate("unindexed", rounds, sides);
    const byName = Object.keys(SIDES).map((name) => [
      name,
      done.flatMap((round) => round[name] ?? []),
    ]);
    return { rows, rounds, seconds, minutes, sides: Object.fromEntries(byName) };
  });
}

async function fillSender(admin: Database, rows: number): Promise<void> {
  await admin.message(
    `insert into data.tasks (app_id, id, title, status, done, position, price, notes, due_at)
    select ${appIdSql("1")}, ${rowIdSql(`10000000 + n`)}, 'Task ' || n, 'open', n % 3 = 2, n, n * 0.25,
      'Two coats, and mind the roses along the southern side of house ' || n,
      timestamptz '2026-01-01' + n * interval '1 minute'
    from generate_series(${OTHERS.rows + 1}, ${rows}) as n; select 1`,
    { timeoutMs: FILL_MS },
  );
  await admin.query("vacuum (analyze) data.tasks", [], {
    ...{ retry: "unsafe", queue: SERVICE_QUEUE },
  });
}

async function measure(
  stage: Stage,
  workers: number,
  { seconds, minutes }: Pick<BenchOptions, "seconds" | "minutes">,
): Promise<Measured> {
  await using stack = new AsyncDisposableStack();
  const project = makeProject();
  stack.defer(() => project.remove());
  const port = await findFreePort();
  const { servingUrl, pushUrl, prepare } = stage.database;
  const serving = startCommand(["serve"], {
    ...project,
    env: {
      ...{ DATABASE_URL: servingUrl, ADMIN_DATABASE_URL: pushUrl, PREVIEW: "filters" },
      ...{ DATABASE_PREPARE: prepare ? "on" : "off", DATABASE_POOL: String(POOL) },
      ...{ HOST: "127.0.0.1", PORT: String(port), WORKERS: String(workers) },
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
  });
  stack.defer(async () => void (await serving.kill("SIGTERM")));
  await serving.until(
    new RegExp(Array.from({ length: workers }, () => '"event":"listening"').join("[\\s\\S]*")),
  );
  const url = `http://127.0.0.1:${port}`;
  const [sender, ...others] = stage.apps;
  if (sender === undefined) throw new Error("The stage has no app");
  await observe(url, others, WARM_MS);
  const before = await observe(url, others, seconds * 1000);
  const sending = startSending(url, sender);
  const during = await observe(url, others, minutes * 60_000);
  return { before, during, sent: await sending.stop() };
}

/** The times of gets and lists of other apps. */
async function observe(url: string, apps: readonly StageApp[], ms: number): Promise<Phase> {
  const durations: number[] = [];
  const failures: Record<string, number> = {};
  const endsAt = performance.now() + ms;
  const call = async ({ number, key }: StageApp): Promise<void> => {
    const size = { apps: 1 + OTHERS.apps, rows: OTHERS.rows };
    const headers = { authorization: `Bearer ${key}` };
    for (let count = 0; performance.now() < endsAt; count++) {
      const id = rowId(size, number, 1 + Math.floor(Math.random() * OTHERS.rows));
      const startedAt = performance.now();
      const path = count % 2 === 0 ? `${TASKS}/${id}` : `${TASKS}?limit=20`;
      const response = await fetch(url + path, { headers });
      await response.arrayBuffer();
      durations.push(performance.now() - startedAt);
      if (response.status !== 200) failures[response.status] = (failures[response.status] ?? 0) + 1;
      await Bun.sleep(THINK_MS * (0.5 + Math.random()));
    }
  };
  await Promise.all(apps.map(call));
  const sorted = durations.toSorted((a, b) => a - b);
  const [load = 0] = loadavg();
  return {
    ...{ count: sorted.length, failures, load },
    ...{ p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) },
  };
}

/** Sends queries that no index serves until `stop`, which returns the number of responses by status. */
function startSending(url: string, { key }: StageApp) {
  const headers = { authorization: `Bearer ${key}` };
  const paths = [
    ...CONDITIONS.map((query) => `${TASKS}?${query}`),
    ...GROUPS.map((path) => `${TASKS}/${path}`),
  ];
  const sent: Record<string, number> = {};
  let isOver = false;
  const send = async (_: unknown, sender: number): Promise<void> => {
    for (let count = sender; !isOver; count++) {
      const { status } = await skim(url + (paths[count % paths.length] ?? ""), headers);
      sent[status] = (sent[status] ?? 0) + 1;
      if (status === 429 || status === 503) await Bun.sleep(REJECTED_MS);
    }
  };
  const all = Promise.all(Array.from({ length: SENDERS }, send));
  return {
    stop: async () => {
      isOver = true;
      await all;
      return sent;
    },
  };
}

async function skim(url: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  return response;
}

export function printUnindexed({ rows, rounds, minutes, sides }: UnindexedResult): string {
  const head = [
    ...["others while one app sends queries without an index", "p50 ms", "p99 ms", "rejected"],
    ...["during ÷ before, p50", "p99", "queries answered", "canceled", "rejected", "load"],
  ];
  const lines = Object.entries(sides).flatMap(([name, measured]) => {
    const of = (read: (each: Measured) => number) => median(measured.map(read));
    const sum = (read: (each: Measured) => number) =>
      measured.reduce((total, each) => total + read(each), 0);
    const sent = (status: number) => sum((each) => each.sent[status] ?? 0);
    const failed = (phase: "before" | "during") =>
      sum((each) => Object.values(each[phase].failures).reduce((total, count) => total + count, 0));
    return [
      [
        `${name}, before`,
        ...[
          show(
            of(({ before }) => before.p50Ms),
            1,
          ),
          show(
            of(({ before }) => before.p99Ms),
            1,
          ),
        ],
        ...[failed("before"), "", "", "", "", ""],
        show(
          of(({ before }) => before.load),
          1,
        ),
      ],
      [
        `${name}, during`,
        ...[
          show(
            of(({ during }) => during.p50Ms),
            1,
          ),
          show(
            of(({ during }) => during.p99Ms),
            1,
          ),
        ],
        failed("during"),
        times(of(({ before, during }) => during.p50Ms / before.p50Ms)),
        times(of(({ before, during }) => during.p99Ms / before.p99Ms)),
        ...[show(sent(200)), show(sent(504)), show(sent(429) + sent(503))],
        show(
          of(({ during }) => during.load),
          1,
        ),
      ],
    ];
  });
  return `${table(head, lines)}

Medians of ${rounds} × ${show(minutes, 1)} minutes of ${SENDERS} callers on ${show(rows)} rows; sums of responses.`;
}
