/** `bench requests`: every scenario by every contender, in turns, so that a busy moment of the machine hits all alike. @module */

import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { parentOf, residentMb } from "./cpu.ts";
import { type Run, runLoad } from "./load.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import {
  limitScript,
  makeRequests,
  postgrestScript,
  SCENARIOS,
  type Scenario,
} from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export const CONTENDERS = ["service", "limit", "plain", "postgrest"] as const;
export type Contender = (typeof CONTENDERS)[number];

/** Medians of a scenario's rounds by contender; absent where a contender cannot run. */
export type ScenarioResult = {
  name: string;
  title: string;
  contenders: Partial<Record<Contender, Run>>;
  /** The median of each round's service / contender: rounds are pairs, so a slow minute cancels out. */
  ratios: Partial<Record<Exclude<Contender, "service">, number>>;
};

export type RequestsResult = {
  apps: number;
  rowsAnApp: number;
  connections: number;
  pool: number;
  rounds: number;
  seconds: number;
  postgres: string;
  pgbench: "present" | "missing";
  memoryMb: { idle: number; after: number; most: number } | undefined;
  scenarios: ScenarioResult[];
};

type Arena = {
  stage: Stage;
  options: BenchOptions;
  servers: { service: Server; plain: Server };
  postmaster: number | undefined;
  pgbench: string | undefined;
};

/** Seconds before the first round of a scenario, which do not count. */
const WARM_S = 1.5;

export async function benchRequests(options: BenchOptions): Promise<RequestsResult> {
  return withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const service = await startServer("service", stage, options);
    const plain = await startServer("plain", stage, options);
    const idle = residentMb(service.pid)?.now;
    try {
      const postmaster = await findPostmaster(stage);
      const arena = {
        stage,
        options,
        servers: { service, plain },
        postmaster,
        pgbench: findPgbench(),
      };
      const scenarios: ScenarioResult[] = [];
      for (const scenario of pickScenarios(options.only))
        scenarios.push(await benchScenario(arena, scenario));
      const memory = residentMb(service.pid);
      return {
        apps: options.apps,
        rowsAnApp: options.rows,
        connections: options.connections,
        pool: options.pool,
        rounds: options.rounds,
        seconds: options.seconds,
        postgres: stage.version,
        pgbench: arena.pgbench === undefined ? "missing" : "present",
        memoryMb: memory && { idle: idle ?? 0, after: memory.now, most: memory.most },
        scenarios,
      };
    } finally {
      await Promise.all([service.stop(), plain.stop()]);
    }
  });
}

/** @throws {Error} `--only` names no scenario */
export function pickScenarios(only: readonly string[]): readonly Scenario[] {
  const unknown = only.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) {
    const known = SCENARIOS.map((scenario) => scenario.name).join(", ");
    throw new Error(`Cannot run --only ${unknown.join(",")}: must be of ${known}`);
  }
  return SCENARIOS.filter((scenario) => only.length === 0 || only.includes(scenario.name));
}

/** The postmaster's process, where the database runs on this machine and shows its processes. */
export async function findPostmaster(stage: Stage): Promise<number | undefined> {
  return withDatabase(stage.database.adminUrl, async (admin) => {
    const [row] = await admin.query<{ pid: number }>("select pg_backend_pid() as pid", [], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    });
    return row === undefined ? undefined : parentOf(row.pid);
  });
}

async function benchScenario(arena: Arena, scenario: Scenario): Promise<ScenarioResult> {
  await runHttp(arena, scenario, { contender: "service", seconds: WARM_S });
  await runHttp(arena, scenario, { contender: "plain", seconds: WARM_S });
  const rounds: Partial<Record<Contender, Run>>[] = [];
  for (let round = 0; round < arena.options.rounds; round++) {
    const runs: Partial<Record<Contender, Run>> = {};
    for (const contender of CONTENDERS) {
      const run = await runContender(arena, scenario, contender);
      if (run !== undefined) runs[contender] = run;
    }
    rounds.push(runs);
    process.stderr.write(`${scenario.name} ${round + 1}/${arena.options.rounds}\n`);
  }
  return {
    name: scenario.name,
    title: scenario.title,
    contenders: mapContenders((contender) =>
      medianRun(rounds.flatMap((runs) => runs[contender] ?? [])),
    ),
    ratios: mapContenders((contender) =>
      medianOf(rounds.map((runs) => ratio(runs.service?.perSecond, runs[contender]?.perSecond))),
    ),
  };
}

async function runContender(
  arena: Arena,
  scenario: Scenario,
  contender: Contender,
): Promise<Run | undefined> {
  const { stage, options, pgbench, postmaster } = arena;
  const { connections, seconds } = options;
  if (contender === "service" || contender === "plain")
    return runHttp(arena, scenario, { contender, seconds });
  if (pgbench === undefined) return undefined;
  const plan =
    contender === "limit"
      ? { url: stage.database.servingUrl, script: limitScript(scenario, stage.size) }
      : { url: stage.plainUrl, script: postgrestScript(scenario, stage.size) };
  return runPgbench(
    pgbench,
    { ...plan, body: scenario.body ?? "{}", connections, seconds },
    postmaster,
  );
}

function runHttp(
  { stage, options, servers, postmaster }: Arena,
  scenario: Scenario,
  { contender, seconds }: { contender: "service" | "plain"; seconds: number },
): Promise<Run> {
  const server = servers[contender];
  return runLoad(
    {
      url: server.url,
      connections: options.connections,
      seconds,
      status: scenario.status,
      requests: makeRequests(scenario, stage),
    },
    { server, postmaster },
  );
}

function mapContenders<Value>(
  make: (contender: Contender) => Value | undefined,
): Partial<Record<Contender, Value>> {
  const made: Partial<Record<Contender, Value>> = {};
  for (const contender of CONTENDERS) {
    const value = make(contender);
    if (value !== undefined) made[contender] = value;
  }
  return made;
}

/** Every figure's own median. */
export function medianRun(runs: readonly Run[]): Run | undefined {
  if (runs.length === 0) return undefined;
  const read = (name: keyof Run) => medianOf(runs.map((run) => run[name]));
  const cpu = (["serverCpu", "databaseCpu", "loadCpu"] as const).flatMap((name) => {
    const value = read(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    perSecond: read("perSecond") ?? 0,
    p50Ms: read("p50Ms") ?? 0,
    p99Ms: read("p99Ms") ?? 0,
    ...Object.fromEntries(cpu),
  };
}

/** @throws {Error} there is none */
export function takeMedian(runs: readonly Run[]): Run {
  const run = medianRun(runs);
  if (run === undefined) throw new Error("No round was run");
  return run;
}

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known);
}

function ratio(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other;
}
