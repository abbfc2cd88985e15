/** What exports and imports of archives need. @module */
import type { Database } from "../db/mod.ts";
import type { Log } from "../observe.ts";

export type ArchiveDeps = {
  admin: Database;
  /** Runs a task with a connection that can only read and change apps' rows. */
  withRows: <Result>(task: (rows: Database) => Promise<Result>) => Promise<Result>;
  /** Runs a task with a connection that can only push. */
  withPush: <Result>(task: (pushing: Database) => Promise<Result>) => Promise<Result>;
  cookieDomain: string | undefined;
  makeId: () => string;
  log: Log;
  /** Gets a line of progress. */
  report: (line: string) => void;
};
