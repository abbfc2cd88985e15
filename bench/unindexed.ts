/**
 * `bench unindexed`: others' requests while one app sends conditions that no index serves, to one process and to four workers. 300
 * callers send them all the time, and wait a second after a rejection. Before, and for comparison, the others alone, and while the
 * 300 callers send as many requests that an index serves: what is more than that is the cost of the queries.
 *
 * @module
 */
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
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
import type { SendersPlan } from "./unindexed_senders.ts";

const SCRIPT = fileURLToPath(new URL("unindexed_senders.ts", import.meta.url));
const SENDERS = 300;
const PACE = { senders: SENDERS, pauseMs: 1000 };
const OTHERS = { apps: 8, rows: 1000 };
/** Between two requests of a caller of another app. */
const THINK_MS = 15;
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
const UNINDEXED = [
  ...CONDITIONS.map((query) => `${TASKS}?${query}`),
  ...["groups?by=done&sum=price", "groups?by=title"].map((path) => `${TASKS}/${path}`),
];
const INDEXED = `${TASKS}?status=eq.open&limit=1`;

type Phase = {
  count: number;
  p50Ms: number;
  p99Ms: number;
  /** Responses of others with another status than 200, by status. */
  failures: Readonly<Record<string, number>>;
  load: number;
};
type Measured = {
  /** Without the app. */
  before: Phase;
  /** While the app sends a query along an index each second from each caller. */
  indexed: Phase;
  during: Phase;
  sent: Readonly<Record<string, number>>;
};
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
  const watch = (paths: readonly string[], isSteady: boolean) =>
    Promise.all([
      observe(url, others, minutes * 60_000),
      send({ url, key: sender.key, paths, isSteady, seconds: minutes * 60, ...PACE }),
    ]);
  const [indexed] = await watch([INDEXED], true);
  const [during, sent] = await watch(UNINDEXED, false);
  return { before, indexed, during, sent };
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

/** The number of responses by status. */
async function send(plan: SendersPlan) {
  const child = Bun.spawn([process.execPath, SCRIPT], {
    stdin: new Blob([JSON.stringify(plan)]),
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: String(2 * SENDERS) },
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  await child.exited;
  return JSON.parse(output) as Measured["sent"];
}

const PHASES = {
  before: "alone",
  indexed: "while it sends queries along an index",
  during: "while it sends queries without an index",
} as const satisfies Record<Exclude<keyof Measured, "sent">, string>;

export function printUnindexed({ rows, rounds, minutes, sides }: UnindexedResult): string {
  const head = [
    ...["others beside an app", "p50 ms", "p99 ms", "rejected", "p50 ÷ alone", "p99"],
    ...["p99 ÷ along an index", "load"],
  ];
  const lines = Object.entries(sides).flatMap(([name, measured]) =>
    Object.entries(PHASES).map(([key, title]) => {
      const phase = key as keyof typeof PHASES;
      const of = (read: (each: Phase, measured: Measured) => number) =>
        median(measured.map((each) => read(each[phase], each)));
      const failed = measured.reduce((sum, each) => sum + sumUp(each[phase].failures), 0);
      const [p50, p99] = [of(({ p50Ms }) => p50Ms), of(({ p99Ms }) => p99Ms)];
      return [
        ...[`${name}, ${title}`, show(p50, 1), show(p99, 1), failed],
        times(of(({ p50Ms }, { before }) => p50Ms / before.p50Ms)),
        times(of(({ p99Ms }, { before }) => p99Ms / before.p99Ms)),
        times(of(({ p99Ms }, { indexed }) => p99Ms / indexed.p99Ms)),
        show(
          of(({ load }) => load),
          1,
        ),
      ];
    }),
  );
  const answers = Object.entries(sides).map(([name, measured]) => {
    const of = (status: number) => measured.reduce((sum, { sent }) => sum + (sent[status] ?? 0), 0);
    return `${name}: ${of(200)} answered, ${of(504)} canceled, ${of(429) + of(503)} rejected`;
  });
  return `${table(head, lines)}

Medians of ${rounds} × ${show(minutes, 1)} minutes of ${SENDERS} callers on ${show(rows)} rows. Queries without an index: ${answers.join("; ")}.`;
}

function sumUp(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
