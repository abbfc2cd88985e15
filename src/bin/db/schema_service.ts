/** The operations of a service, over HTTP or directly on the database. @module */
import type { Config } from "../../config/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
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
import type { Terminal } from "../cli/command.ts";
import type { Address } from "../cli/settings.ts";

export type PushRequest = {
  definition: Definition;
  journal: readonly JournalEntry[];
  dryRun: boolean;
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
};
/** The texts of the migrations that the service lacks, and the project's current definition. */
export type ReplayRequest = Pick<PushRequest, "definition" | "share"> & {
  migrations: readonly string[];
};
export type Pushed = Omit<PushResult, "deferred"> & {
  /** The project's migrations that were applied first, or would be. */
  replays?: PlannedMigration[];
};
/** `declared`: everything that the project's migrations and its schema have declared. */
export type JoinRequest = ReplayRequest & { declared: Definition; dryRun: boolean };
export type ChangeRequest = { change: Change; journal: readonly JournalEntry[]; dryRun: boolean };
export type Changed = Omit<ChangeResult, "deferred">;
export type SchemaService = {
  readonly push: (request: PushRequest) => Promise<Pushed>;
  /** Applies one of the project's migrations. */
  readonly replay: (request: ReplayRequest) => Promise<Pushed>;
  /** Joins histories that have diverged. */
  readonly join: (request: JoinRequest) => Promise<Pushed>;
  /** Applies an explicit change, or plans it. */
  readonly change: (request: ChangeRequest) => Promise<Changed>;
  /** Plans the project's migrations and then a push of the definition. */
  readonly planReplay: (request: ReplayRequest) => Promise<Pushed>;
  readonly status: () => Promise<Status>;
  /** A migration of the status list, with its SQL. */
  readonly migration: (seq: number) => Promise<StoredMigration>;
  /** For operators only: covers every app's tables. */
  readonly drift?: () => Promise<Difference[]>;
  /** For operators only: an app must not learn about other apps. */
  readonly apps?: () => Promise<TableApps[]>;
};

/** The database, and the app to push as. */
export type DirectDestination = {
  kind: "database";
  address: Address;
  app: string;
  isDev?: boolean;
};
/** The terminal shows failures of deferred steps, which a command without a service runs itself. */
export type DirectOptions = { config: Config; terminal: Pick<Terminal, "warn"> };
