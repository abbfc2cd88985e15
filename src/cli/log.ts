/** The log of a command. @module */

import { type Log, makeLog } from "../observe.ts";
import type { Config } from "../settings/mod.ts";

/** A log of JSON lines from `LOG_LEVEL` on. */
export function openLog(config: Config, write: (line: string) => void): Log {
  return makeLog(config.LOG_LEVEL, { write, now: () => new Date() });
}
