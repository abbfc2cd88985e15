/** The number of shards that a database is distributed over. @module */
import { UsageError } from "./command.ts";

const MAX_SHARDS = 64_000;

/** @throws {UsageError} not a number of shards */
export function readShards(text: string): number {
  const shards = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (shards < 1 || shards > MAX_SHARDS)
    throw new UsageError(
      `Cannot read --shards ${text}: must be a whole number from 1 to ${MAX_SHARDS}`,
    );
  return shards;
}
