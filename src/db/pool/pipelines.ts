/**
 * The pipelines of a pool: one for the shortest reads and one for longer reads, so that short reads
 * never wait for longer reads. A small pool has one pipeline for both, or none.
 *
 * @module
 */
import type { PoolStats } from "./acquire.ts";
import { countPipelines, makePipeline, type Pipeline, type PipelineOptions } from "./pipeline.ts";

/**
 * The expected duration of a read: `short`, a lookup by key; `longer`, up to a millisecond or two; `long`, which is
 * never pipelined.
 */
export type ReadLength = "short" | "longer" | "long";

export type Pipelines = {
  /** The pipeline for reads of this duration; `undefined` if they need exclusive connections. */
  readonly find: (length: ReadLength) => Pipeline | undefined;
  /** How many of the pool's connections are for pipelining. */
  readonly connections: number;
  readonly stats: () => readonly PoolStats[];
  readonly countChanges: (changes: number) => void;
  readonly close: (timeoutS: number) => Promise<void>;
};

export function openPipelines(options: PipelineOptions): Pipelines {
  const connections = countPipelines(options);
  const ofLonger = Math.floor(connections / 2);
  const open = (count: number) =>
    count === 0 ? undefined : makePipeline({ ...options, connections: count });
  const short = open(connections - ofLonger);
  const longer = open(ofLonger);
  const all = [short, longer].filter((pipeline) => pipeline !== undefined);
  const byLength = { short, longer: longer ?? short, long: undefined };
  return {
    find: (length) => byLength[length],
    connections,
    stats: () => all.map((pipeline) => pipeline.stats()),
    countChanges: (changes) => {
      for (const pipeline of all) pipeline.countChanges(changes);
    },
    close: async (timeoutS) => {
      await Promise.all(all.map((pipeline) => pipeline.close(timeoutS)));
    },
  };
}
