/** Settings of the release before this one that are constants now. They have no effect; the next release deletes this list. @module */
import { LIST_CACHE_BYTES } from "../data/deps.ts";
import { KEEP_ALIVE_S } from "../http/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { PUSH_LIMITS } from "../tables/limits.ts";
import { type Environment, readVariable } from "./environment.ts";

type RemovedSetting = {
  /** The value that always holds now. */
  constant: string;
  /** What the operator of a process that still has the setting can do. */
  remedy: string;
};

export const REMOVED_SETTINGS: Readonly<Record<string, RemovedSetting>> = {
  KEEP_ALIVE: {
    constant: `a silent connection stays open for ${toDurationText(KEEP_ALIVE_S)}`,
    remedy:
      "set each proxy or load balancer in front to close its silent connections earlier, such as after 60 seconds, and remove the variable",
  },
  GROUP_CREATES: {
    constant: "creates of an app that arrive together share one statement and one commit",
    remedy: "remove the variable: each create still succeeds or fails separately",
  },
  LIST_CACHE_BYTES: {
    constant: `each process caches up to ${toMegabytes(LIST_CACHE_BYTES)} of pages of lists`,
    remedy: "remove the variable, and leave each worker that much memory",
  },
  JOURNAL_BYTES: {
    constant: `all migrations of an app together can have ${toMegabytes(PUSH_LIMITS.journalBytes)}`,
    remedy:
      "remove the variable, and push the tables of an app above that with rowhouse db push --app",
  },
  MAX_SOCKETS: {
    constant: "a process has max four fifths of its limit on open files as client sockets",
    remedy:
      "remove the variable, and set that limit (LimitNOFILE of systemd, ulimits of Compose, ulimit -n)",
  },
};

function toMegabytes(bytes: number): string {
  return `${bytes / 1_048_576} MB`;
}

/** The removed settings that the environment still has. */
export function findRemoved(env: Environment): (RemovedSetting & { variable: string })[] {
  return Object.entries(REMOVED_SETTINGS)
    .filter(([variable]) => readVariable(env, variable) !== undefined)
    .map(([variable, removed]) => ({ variable, ...removed }));
}
