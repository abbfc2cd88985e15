/** `bench requests`: compares all sides in every scenario. @module */
import { findBenches, openCheckout } from "./checkout.ts";
import { type Comparison, compare, compareCpu, printComparison, type Sides } from "./compare.ts";
import { prepareRun, type Run, type Served } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import { preparePocketbase } from "./pocketbase.ts";
import { show, table, times } from "./print.ts";
import {
  findScenario,
  limitScript,
  postgrestScript,
  SCENARIOS,
  type Scenario,
} from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export const ROWHOUSE = "Rowhouse";
const CALL = "the call by pgbench";
const PLAIN = "plain Bun.serve";
const POSTGREST = "PostgREST's statements by pgbench";
/** The upper limit of a server on Bun.serve and postgres.js. */
const BARE = "the same call behind Bun.serve, nothing else";
const OTHER = "the other checkout";
/** Measured with an unchanged page. All other sides build their pages. */
const CACHED = "Rowhouse, unchanged, from memory";
const KNOWN = "Rowhouse, unchanged, 304";
const KEYED = "Rowhouse, with an Idempotency-Key";
const POCKETBASE = "PocketBase, which does not wait for the disk";
const UNGROUPED = "Rowhouse, each create separately";
/** Enough for the largest pages of all apps. */
const CACHE_BYTES = 268_435_456;

type ScenarioResult = Comparison & { name: string; title: string };
export type RequestsResult = {
  apps: number;
  rowsPerApp: number;
  pool: number;
  postgres: string;
  pgbench: "present" | "missing";
  scenarios: ScenarioResult[];
};

type Servers = Sides<Served>;

export async function benchRequests(options: BenchOptions): Promise<RequestsResult> {
  return await withStage(options, async (stage) => {
    await using server = await startServer("service", stage, options);
    const withOthers = options.against === undefined ? withContenders : withCheckout;
    const scenarios = await withOthers({ stage, server }, options, (servers) =>
      benchScenarios(servers, options),
    );
    return {
      apps: options.apps,
      rowsPerApp: options.rows,
      pool: options.pool,
      postgres: stage.version,
      pgbench: findPgbench() === undefined ? "missing" : "present",
      scenarios,
    };
  });
}

async function withContenders<Result>(
  served: Served,
  options: BenchOptions,
  use: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  const { stage } = served;
  const keys = Object.fromEntries(stage.apps.map(({ key, id }) => [`Bearer ${key}`, id]));
  const env = { BENCH_APPS: JSON.stringify(keys) };
  await using plain = await startServer("plain", stage, options, { env });
  await using bare = await startServer("bare", stage, options, { env });
  const cache = { BENCH_LIST_CACHE_BYTES: String(CACHE_BYTES) };
  await using cached = await startServer("service", stage, options, { env: cache });
  const single = { BENCH_GROUP_CREATES: "off" };
  await using ungrouped = await startServer("service", stage, options, { env: single });
  return await use({
    [ROWHOUSE]: served,
    [UNGROUPED]: { stage, server: ungrouped },
    [CACHED]: { stage, server: cached },
    [PLAIN]: { stage, server: plain },
    [BARE]: { stage, server: bare },
  });
}

/** Opens another checkout, whose own code creates its database in the same cluster. */
async function withCheckout<Result>(
  served: Served,
  options: BenchOptions,
  use: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  await using stack = new AsyncDisposableStack();
  const root = await openCheckout(stack, options.against ?? "");
  const folder = findBenches(root);
  if (folder === undefined) throw new Error(`Cannot compare with ${root}: it has no benches`);
  const other: Pick<typeof import("./stage.ts"), "withStage"> = await import(`${folder}/stage.ts`);
  return await other.withStage(options, async (filled) => {
    const stage = { ...filled, postmaster: served.stage.postmaster };
    await using server = await startServer("service", stage, options, { folder });
    return await use({ [ROWHOUSE]: served, [OTHER]: { stage, server } });
  });
}

async function benchScenarios(servers: Servers, options: BenchOptions): Promise<ScenarioResult[]> {
  const wanted = options.only.length === 0 ? SCENARIOS : options.only.map(findScenario);
  const results: ScenarioResult[] = [];
  for (const scenario of wanted) {
    const { name, title } = scenario;
    const runs: Record<string, () => Promise<Run>> = {};
    for (const [side, served] of Object.entries(servers))
      if (isCompared(side, name)) runs[side] = await prepareRun(served, scenario, options);
    Object.assign(runs, await variantsOf(servers, scenario, options));
    const stage = servers[PLAIN]?.stage;
    if (stage !== undefined) Object.assign(runs, pgbenchRuns(stage, scenario, options));
    await using stack = new AsyncDisposableStack();
    if (stage !== undefined && name === "create") {
      const pocketbase = await preparePocketbase(stack, scenario, options);
      if (pocketbase !== undefined) runs[POCKETBASE] = pocketbase;
    }
    results.push({ name, title, ...(await compare(name, runs, options)) });
  }
  return results;
}

/** The bare server has only one call, only pages are cached, and only creates are grouped. */
function isCompared(side: string, name: string): boolean {
  if (side === UNGROUPED) return name === "create";
  if (side === BARE) return name === "get";
  return side !== CACHED || name.startsWith("list");
}

/** Prepares runs in which callers send more headers, which changes the service's work. */
async function variantsOf(
  { [ROWHOUSE]: served, [CACHED]: cached }: Servers,
  scenario: Scenario,
  options: BenchOptions,
): Promise<Sides<() => Promise<Run>>> {
  if (served === undefined || cached === undefined) return {};
  if (scenario.name.startsWith("list"))
    return { [KNOWN]: await prepareRun(served, scenario, options, { knowsPages: true }) };
  return scenario.name === "create"
    ? { [KEYED]: await prepareRun(served, scenario, options, { hasKeys: true }) }
    : {};
}

function pgbenchRuns(
  stage: Stage,
  scenario: Scenario,
  { connections, seconds }: BenchOptions,
): Sides<() => Promise<Run>> {
  const pgbench = findPgbench();
  if (pgbench === undefined) return {};
  const load = { body: scenario.http.body ?? "{}", connections, seconds };
  const prepare = (url: string, script: string) => () =>
    runPgbench(pgbench, { url, script, ...load }, stage.postmaster);
  return {
    [CALL]: prepare(stage.database.servingUrl, limitScript(scenario, stage.size)),
    [POSTGREST]: prepare(stage.plainUrl, postgrestScript(scenario, stage.size)),
  };
}

export function printRequests({ scenarios, ...result }: RequestsResult): string {
  const size = `${result.apps} apps × ${result.rowsPerApp} rows, a pool of ${result.pool}, PostgreSQL ${result.postgres}`;
  const missing = result.pgbench === "missing" ? "; without pgbench, which is not installed" : "";
  const tables = scenarios.map((scenario) => printComparison(`${scenario.title} by`, scenario));
  return [`${size}${missing}.`, ...tables].join("\n\n");
}

/** Renders a table of three scenarios. */
export function printHighlights({ scenarios }: RequestsResult): string {
  const rows = ["get", "list-100", "create"].map((name) => {
    const found = scenarios.find((scenario) => scenario.name === name);
    const rate = show(found?.sides[ROWHOUSE]?.perSecond);
    const cpu = times(compareCpu(found?.sides ?? {}, PLAIN, ROWHOUSE));
    return [found?.title, rate, times(found?.ratios[CALL]), times(found?.ratios[PLAIN]), cpu];
  });
  return table(["request", "req/s", `× ${CALL}`, `× ${PLAIN}`, `CPU of ${PLAIN} ÷ ours`], rows);
}
