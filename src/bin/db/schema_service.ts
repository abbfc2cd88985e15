/** What a command asks of a service, over HTTP or straight from the database. @module */
import type { Definition } from "../../dsl/mod.ts";
import type { Log } from "../../observe.ts";
import type {
  Change,
  ChangeResult,
  Difference,
  JournalEntry,
  PlannedMigration,
  PushResult,
  Status,
  StoredMigration,
  TableApps,
} from "../../push/mod.ts";
import type { Address } from "../cli/settings.ts";

export type PushRequest = {
  definition: Definition;
  journal: readonly JournalEntry[];
  dryRun: boolean;
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
};
/** The project's migrations that the service lacks, as texts, and what the project declares now. */
export type ReplayRequest = Pick<PushRequest, "definition" | "share"> & {
  migrations: readonly string[];
};
export type Pushed = Omit<PushResult, "deferred"> & {
  /** The project's migrations that were applied before, or would be. */
  replays?: PlannedMigration[];
};
/** `declared`: what the project's migrations and its schema declare, and have declared before. */
export type JoinRequest = ReplayRequest & { declared: Definition; dryRun: boolean };
export type ChangeRequest = { change: Change; journal: readonly JournalEntry[]; dryRun: boolean };
export type Changed = Omit<ChangeResult, "deferred">;
export type SchemaService = {
  /** `log` is told about failures of deferred steps, if this process runs them. */
  readonly push: (request: PushRequest, log: Log) => Promise<Pushed>;
  /** Applies one of the project's migrations. */
  readonly replay: (request: ReplayRequest, log: Log) => Promise<Pushed>;
  /** Joins histories that have diverged. */
  readonly join: (request: JoinRequest, log: Log) => Promise<Pushed>;
  /** Makes an explicit change, or says what it would do. */
  readonly change: (request: ChangeRequest, log: Log) => Promise<Changed>;
  /** What applying the project's migrations and then pushing the definition would do. */
  readonly planReplay: (request: ReplayRequest) => Promise<Pushed>;
  readonly status: () => Promise<Status>;
  /** One that the status lists, with its SQL. */
  readonly migration: (seq: number) => Promise<StoredMigration>;
  /** For operators only: it covers every app's tables. */
  readonly drift?: () => Promise<Difference[]>;
  /** For operators only: an app never learns about another one. */
  readonly apps?: () => Promise<TableApps[]>;
};

/** The database, as an app of it. */
export type DirectDestination = {
  kind: "database";
  address: Address;
  app: string;
  isDev?: boolean;
};
