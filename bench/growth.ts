/** `bench growth`: get and list with more apps, and with more rows in one table. Both should stay constant. @module */
import { compare } from "./compare.ts";
import { prepareRun, type Served } from "./load.ts";
import type { Size } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { findScenario } from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { withStage } from "./stage.ts";

type GrowthSize = Awaited<ReturnType<typeof benchSize>>;
type GrowthResult = { connections: number; sizes: GrowthSize[] };

const SMALLEST: Size = { apps: 100, rows: 100 };
/** More apps first, then more rows. */
const SIZES: readonly (Size & { full?: true })[] = [
  { apps: 1000, rows: 100 },
  { apps: 10_000, rows: 100 },
  { apps: 100, rows: 1000 },
  { apps: 100, rows: 10_000 },
  { apps: 100, rows: 100_000, full: true },
];

export async function benchGrowth(options: BenchOptions): Promise<GrowthResult> {
  const { connections } = options;
  return await withServed(SMALLEST, options, async (first) => {
    const sizes = [await benchSize(first, first, options)];
    for (const size of SIZES.filter(({ full }) => !full || options.full))
      sizes.push(await withServed(size, options, (other) => benchSize(first, other, options)));
    return { connections, sizes };
  });
}

function withServed<Result>(
  size: Size,
  options: BenchOptions,
  use: (served: Served) => Promise<Result>,
): Promise<Result> {
  return withStage(size, async (stage) => {
    await using server = await startServer("service", stage, options);
    return await use({ stage, server });
  });
}

/** Measures a size. Its gets alternate with the gets of the first size. */
async function benchSize(first: Served, other: Served, options: BenchOptions) {
  const { apps, rows: rowsPerApp } = other.stage.size;
  const rows = apps * rowsPerApp;
  const runs = {
    get: await prepareRun(other, findScenario("get"), options),
    first: await prepareRun(first, findScenario("get"), options),
    list: await prepareRun(other, findScenario("list-100"), options),
  };
  const { sides, ratios } = await compare(`${apps} apps, ${rows} rows`, runs, options);
  return { apps, rows, get: sides["get"], list: sides["list"], getRatio: ratios["first"] };
}

export function printGrowth({ sizes }: GrowthResult): string {
  const got = ["get req/s", "get p99 ms", "get database CPU s/1000"];
  const head = ["apps", "rows in the table", ...got, "list 100 req/s", "get ÷ the first line's"];
  const rows = sizes.map(({ get, list, ...size }) => [
    show(size.apps),
    show(size.rows),
    show(get?.perSecond),
    show(get?.p99Ms, 2),
    show(get?.databaseCpu, 3),
    show(list?.perSecond),
    times(size.getRatio),
  ]);
  return table(head, rows);
}
