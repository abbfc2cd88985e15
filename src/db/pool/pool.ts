/** A pool of connections to one server: exclusive connections, and a few for pipelining. @module */
import { Acquirer, type AcquirerOptions, type PoolStats } from "./acquire.ts";
import { isDriverPatched } from "./connection.ts";
import { addStats, openPipelines, type PipelineOptions, type Pipelines } from "./pipeline.ts";

export type Pool = {
  readonly acquirer: Acquirer;
  readonly pipelines: Pipelines;
  readonly stats: () => PoolStats;
  readonly countChanges: (changes: number) => void;
  readonly close: (timeoutS: number) => Promise<void>;
};

export type PoolOptions = AcquirerOptions & PipelineOptions;

/** Opening a pool does not connect. */
export function openPool(options: PoolOptions): Pool {
  const pipelines = openPipelines({ ...options, name: `${options.name} pipeline` });
  const connections = options.connections - pipelines.connections;
  const acquirer = new Acquirer({ ...options, connections, isPipelined: isDriverPatched() });
  return {
    acquirer,
    pipelines,
    stats: () => addStats(acquirer.stats(), pipelines.stats()),
    countChanges: (changes) => {
      acquirer.countChanges(changes);
      pipelines.countChanges(changes);
    },
    close: async (timeoutS) => {
      await Promise.all([acquirer.close(timeoutS), pipelines.close(timeoutS)]);
    },
  };
}
