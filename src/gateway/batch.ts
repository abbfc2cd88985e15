/** Batched lookups: while a lookup is running, other keys are collected for the next one. @module */
import { Problem } from "../problem.ts";

type FindMany<Key, Value> = (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;

const MAX_WAITING = 10_000;

/**
 * Turns a lookup of many keys into a lookup of one key. Only one query runs at a time, for any number of callers and keys.
 * Callers with the same key share the result.
 */
export function makeBatch<Key, Value>(
  findMany: FindMany<Key, Value>,
): (key: Key) => Promise<Value | undefined> {
  let running = new Map<Key, PromiseWithResolvers<Value | undefined>>();
  let waiting = new Map<Key, PromiseWithResolvers<Value | undefined>>();

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      running = waiting;
      waiting = new Map();
      try {
        const found = await findMany([...running.keys()]);
        for (const [key, { resolve }] of running) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of running.values()) reject(error);
      }
    }
    running = new Map();
  }

  return (key) => {
    const found = running.get(key) ?? waiting.get(key);
    if (found !== undefined) return found.promise;
    if (waiting.size >= MAX_WAITING) throw new Problem("overloaded", { retryAfterS: 1 });
    const created = Promise.withResolvers<Value | undefined>();
    waiting.set(key, created);
    if (running.size === 0) void run();
    return created.promise;
  };
}
