/** The operations of a service, over HTTP or directly on the database. @module */
import type { Config } from "../../settings/mod.ts";
import type {
  Difference,
  MigrationRecord,
  Planned,
  PushBody,
  PushResult,
  Status,
  StoredMigration,
  TableApps,
} from "../../tables/mod.ts";
import type { Terminal } from "../command.ts";
import type { Address } from "../settings.ts";

/** `replays`: the project's migrations that were applied first, or would be. */
export type Pushed = Omit<PushResult, "deferred" | "earlier"> & { replays?: Replayed[] };
export type Replayed = Omit<Planned, "migration" | "rows"> & { migration: MigrationRecord };
export type SchemaService = {
  /** Applies a step, or plans several. */
  readonly push: (request: PushBody) => Promise<Omit<PushResult, "deferred">>;
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
  /** The value of `--schema`, for commands to run next. */
  schema?: string | undefined;
  isDev?: boolean;
};
/** The terminal shows failures of deferred steps, which a command without a service runs itself. */
export type DirectOptions = { config: Config; terminal: Pick<Terminal, "warn"> };
