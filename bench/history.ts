/**
 * `bench history`: what the history of rows costs an update, a delete and a create: with the preview off, of an app without a
 * history, and of an app with one.
 *
 * @module
 */
import { LIST_BYTES } from "../src/data/mod.ts";
import { setAppSwitch } from "../src/records/apps/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import { testDeps } from "../test/support/deps.ts";
import { type Comparison, compare, printComparison } from "./compare.ts";
import { DRAWN_ROW, drawRowOf } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import { callOf, findScenario } from "./scenarios.ts";
import { type Stage, withStage } from "./stage.ts";

const CREATE = findScenario("create");
/** The service's calls. An update changes a value: others are not recorded. A deleted row is created again. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  update: [
    "\\set position random(1, 1000000000)",
    `${callOf("update", `${DRAWN_ROW}, jsonb_build_object('position', :position::int)::text, ${LIST_BYTES}, null, null`)};`,
  ],
  "delete and create": [
    `${callOf("delete", `${DRAWN_ROW}, null`)};`,
    `${callOf("create", `${DRAWN_ROW}, :body, ${LIST_BYTES}, null`)};`,
  ],
  create: [`${CREATE.call};`],
};

type HistoryResult = { writes: Readonly<Record<string, Comparison>> };

export async function benchHistory(options: BenchOptions): Promise<HistoryResult> {
  const { rounds, seconds } = options;
  const found = findPgbench();
  if (found === undefined) throw new Error("Cannot measure statements: pgbench is not installed");
  return await withStage(options, (off) =>
    withStage(options, async (stage) => {
      await withDatabase(stage.database.adminUrl, (admin) =>
        setAppSwitch(testDeps({ admin }), "bench-1", ["history", true]),
      );
      const writes: Record<string, Comparison> = {};
      for (const [name, lines] of Object.entries(WRITES)) {
        const write = (of: Stage, app: number) => () =>
          runPgbench(
            found,
            {
              ...{
                url: of.database.servingUrl,
                body: CREATE.http.body ?? "none",
                seconds,
                connections: 1,
              },
              script: `${[drawRowOf(of.size, app), ...lines].join("\n")}\n`,
            },
            of.postmaster,
          );
        const sides = {
          "the preview off": write(off, 1),
          "an app without a history": write(stage, 2),
          "an app with a history": write(stage, 1),
        };
        writes[name] = await compare(name, sides, { rounds, seconds, connections: 1 });
      }
      return { writes };
    }),
  );
}

export function printHistory({ writes }: HistoryResult): string {
  return Object.entries(writes)
    .map(([name, found]) => printComparison(`${name} a row, by pgbench`, found))
    .join("\n");
}
