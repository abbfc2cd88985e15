/** `bench start`: how long a serving process takes from its command to its first answer with a row in it. @module */
import { median } from "./median.ts";
import { rowId } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export type StartResult = { starts: number; listeningMs: number; firstAnswerMs: number };

const STARTS = 5;

export async function benchStart(options: BenchOptions): Promise<StartResult> {
  return withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const starts: { listening: number; answered: number }[] = [];
    for (let start = 0; start < STARTS; start++) starts.push(await timeStart(stage, options));
    return {
      starts: STARTS,
      listeningMs: median(starts.map(({ listening }) => listening)),
      firstAnswerMs: median(starts.map(({ answered }) => answered)),
    };
  });
}

async function timeStart(stage: Stage, options: BenchOptions) {
  const [app] = stage.apps;
  if (app === undefined) throw new Error("The stage has no app");
  const startedAt = performance.now();
  const server = await startServer("service", stage, options);
  try {
    const listening = performance.now() - startedAt;
    const response = await fetch(
      `${server.url}/v1/data/db/tasks/${rowId(stage.size, app.number, 1)}`,
      {
        headers: { authorization: `Bearer ${app.key}` },
      },
    );
    await response.text();
    if (response.status !== 200) throw new Error(`The first answer has status ${response.status}`);
    return { listening, answered: performance.now() - startedAt };
  } finally {
    await server.stop();
  }
}
