/**
 * Versions: one small row per kind of shared data (tables, keys, apps), raised by triggers in the statement that changes
 * the data. Processes compare numbers instead of listening, because LISTEN does not work through a transaction pooler.
 *
 * @module
 */
import { type Log, logError } from "../observe.ts";
import { type Database, readRows } from "./pool/mod.ts";

export const KINDS = ["catalog", "keys", "apps"] as const;
type VersionKind = (typeof KINDS)[number];
export type Versions = Readonly<Record<VersionKind, number>>;

export type VersionWatch = {
  /** The versions, from a read that started after this call; concurrent callers share a read. */
  readonly read: () => Promise<Versions>;
  /** When the last successful read began, in milliseconds of `now`; -Infinity before the first. */
  readonly confirmedAt: () => number;
  readonly latest: () => Versions | undefined;
  readonly stop: () => void;
};

/** Max delay until a process sees a change of another process, unless a request triggers a read. */
const WATCH_INTERVAL_MS = 1000;

const READ = "select name, version::pg_catalog.int4 as version from rowhouse.versions";

/** A watch that reads every second and on demand; `onVersions` runs before callers continue. */
export function watchVersions(
  deps: { db: Database; now: () => number; log: Log },
  onVersions: (versions: Versions) => Promise<void> | void = () => undefined,
): VersionWatch {
  let latest: Versions | undefined;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  const refresh = async (): Promise<Versions> => {
    const startedAt = deps.now();
    const rows = await readRows<{ name: VersionKind; version: number }>(deps.db, READ);
    const versions = toVersions(rows);
    await onVersions(versions);
    latest = versions;
    confirmedAt = startedAt;
    return versions;
  };
  const read = coalesce(refresh);
  const timer = setInterval(() => {
    // The watch keeps the last versions and retries.
    read().catch(logError(deps.log, "the check of versions"));
  }, WATCH_INTERVAL_MS);
  timer.unref();
  return {
    read,
    confirmedAt: () => confirmedAt,
    latest: () => latest,
    stop: () => clearInterval(timer),
  };
}

/**
 * Returns a function with shared runs: each caller gets a run that starts after its call. At most one run is in progress and
 * one is waiting.
 */
export function coalesce<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let waiting: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    const current = run().finally(() => {
      if (running === current) running = undefined;
    });
    running = current;
    waiting = undefined;
    return current;
  };
  return () => {
    // Between the end of one run and the start of the next, only a waiting run exists.
    if (waiting !== undefined) return waiting;
    if (running === undefined) return start();
    waiting = running.then(start, start);
    return waiting;
  };
}

function toVersions(rows: readonly { name: VersionKind; version: number }[]): Versions {
  const versions = { catalog: 0, keys: 0, apps: 0 };
  for (const row of rows) versions[row.name] = row.version;
  return versions;
}
