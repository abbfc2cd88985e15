/** Results as tables: the terminal and the README show the same text. Pure. @module */
import type { GrowthResult } from "./growth.ts";
import type { PushResult } from "./push.ts";
import { CONTENDERS, type Contender, type RequestsResult } from "./requests.ts";
import type { StartResult } from "./start.ts";

const NAMES: Readonly<Record<Contender, string>> = {
  service: "Rowhouse",
  limit: "the call by pgbench",
  plain: "plain Bun.serve",
  postgrest: "PostgREST's statements by pgbench",
};

type Cell = string | number | undefined;

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]) => `| ${cells.map((cell) => cell ?? "–").join(" | ")} |`;
  const rule = `|${head.map((_, index) => (index === 0 ? " --- |" : " ---: |")).join("")}`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** Every contender's figures, a row each. */
export function printRequests(result: RequestsResult): string {
  const rows = result.scenarios.flatMap((scenario) =>
    CONTENDERS.map((contender) => {
      const run = scenario.contenders[contender];
      const ratio = contender === "service" ? undefined : scenario.ratios[contender];
      return [
        scenario.title,
        NAMES[contender],
        show(run?.perSecond, 0),
        show(run?.p50Ms, 2),
        show(run?.p99Ms, 2),
        show(run?.serverCpu, 3),
        show(run?.databaseCpu, 3),
        show(run?.loadCpu, 3),
        times(ratio),
      ];
    }),
  );
  const head = [
    "request",
    "by",
    "req/s",
    "p50 ms",
    "p99 ms",
    "server CPU s/1000",
    "database CPU s/1000",
    "load CPU s/1000",
    "Rowhouse ÷ this",
  ];
  return `${table(head, rows)}\n\n${printMemory(result)}`;
}

/** One row a scenario, for the README. */
export function printFigures(result: RequestsResult): string {
  const head = [
    "request",
    "req/s",
    "p50 ms",
    "p99 ms",
    "CPU ms a request, server + database",
    "× the call by pgbench",
    "× plain Bun.serve",
    "× PostgREST's statements",
  ];
  const rows = result.scenarios.map(({ title, contenders: { service }, ratios }) => [
    title,
    show(service?.perSecond, 0),
    show(service?.p50Ms, 2),
    show(service?.p99Ms, 2),
    `${show(service?.serverCpu, 3) ?? "–"} + ${show(service?.databaseCpu, 3) ?? "–"}`,
    times(ratios.limit),
    times(ratios.plain),
    times(ratios.postgrest),
  ]);
  return `${table(head, rows)}\n\n${printMemory(result)}`;
}

function printMemory({ memoryMb, pgbench, ...result }: RequestsResult): string {
  const sizes = `${result.apps} apps × ${result.rowsAnApp} rows, ${result.connections} connections, a pool of ${result.pool}, PostgreSQL ${result.postgres}, median of ${result.rounds} × ${result.seconds} s`;
  const memory =
    memoryMb &&
    `the serving process holds ${show(memoryMb.after, 0)} MB after the load (${show(memoryMb.idle, 0)} MB before, ${show(memoryMb.most, 0)} MB at the most)`;
  const missing = pgbench === "missing" ? "pgbench is missing: its columns are empty" : undefined;
  return `${[sizes, memory, missing].filter((part) => part !== undefined).join("; ")}.`;
}

export function printGrowth(result: GrowthResult): string {
  const head = [
    "apps",
    "rows in the table",
    "get req/s",
    "get p99 ms",
    "get database CPU s/1000",
    "list 100 req/s",
    "get ÷ the first line's",
  ];
  const rows = result.sizes.map((size) => [
    size.apps.toLocaleString("en"),
    size.rows.toLocaleString("en"),
    show(size.get.perSecond, 0),
    show(size.get.p99Ms, 2),
    show(size.get.databaseCpu, 3),
    show(size.list.perSecond, 0),
    times(size.getRatio),
  ]);
  return table(head, rows);
}

export function printPush(result: PushResult): string {
  return table(
    ["tables × columns", "plan", "push", "push again", "one column more", "tsc of its types"],
    [
      [
        `${result.tables} × ${result.columns}`,
        ...[result.planMs, result.pushMs, result.againMs, result.changedMs, result.tscMs].map(
          (ms) => `${show(ms, ms < 10 ? 1 : 0)} ms`,
        ),
      ],
    ],
  );
}

export function printStart(result: StartResult): string {
  return table(
    ["start", "ms"],
    [
      ["from the command to the first answer (200)", show(result.firstAnswerMs, 0)],
      ["of that, until it listens", show(result.listeningMs, 0)],
    ],
  );
}

export function show(value: number | undefined, digits: number): string | undefined {
  return value?.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

export function times(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value.toFixed(2)} ×`;
}
