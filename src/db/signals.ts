/** Errors that the service's own SQL raises deliberately: one SQLSTATE per reason, shared by SQL and TypeScript. @module */

/** The prefix of every signal; PostgreSQL has no SQLSTATE with it. */
export const SIGNAL_START = "RH";

export const SIGNALS = {
  /** Another push has locked the tables, or their owner. */
  pushBusy: "RH001",
  /** A push was planned for a state that has changed since then. */
  catalogMoved: "RH002",
  /** Another process has applied the migration since then. */
  alreadyMigrated: "RH003",
  unknownTable: "RH004",
  unknownApp: "RH005",
  notItsTable: "RH006",
  /** The recorded result cannot come from a push of this app. */
  notItsPush: "RH007",
  /** Apps still use the table: its owner cannot end its own use, and no one can drop the table. */
  tableInUse: "RH008",
  tableReferredTo: "RH009",
  lastSuperAdmin: "RH010",
  unknownUser: "RH011",
  auditOnlyGrows: "RH012",
  /** Other sign-in attempts were counted concurrently; never leaves the function that raises it. */
  signInThrottled: "RH013",
  /** An administrator requests an action that requires super_admin. */
  superAdminNeeded: "RH014",
  /** The distribution over a cluster lost rows of an app. */
  rowsDiffer: "RH015",
  /** A job on apps' rows does not exist, or was canceled. */
  unknownJob: "RH016",
  /** The database does not isolate apps, so apps' tables and functions must not change. */
  isolationBroken: "RH017",
  /** The person cannot get a Console role: the service did not set their address. */
  addressUnconfirmed: "RH018",
  /** Rows still contain the enum value to drop. */
  valueInUse: "RH019",
  /** A row has a value that a retype cannot convert. */
  valueUnconverted: "RH025",
  /** A query would visit more rows than allowed. */
  tooManyVisits: "RH020",
  /** The index of a query's plan is missing, or not built yet. */
  indexMissing: "RH021",
  /** A plan names a column, an operator or a value that does not exist. */
  planInvalid: "RH022",
  /** The action turns on a feature that a cluster does not support. */
  notOnCluster: "RH024",
  /** Undoes what a migration tried out; never leaves the block that raises it. */
  tryUndone: "RH026",
  /** Objects that are not Rowhouse's use functions that a migration must drop; the detail lists them. */
  upgradeBlocked: "RH027",
  /** Processes of a release before 0.2.0 run, or ran a moment ago. */
  earlierProcesses: "RH028",
  /** The app's last push declares rules for the table. */
  tableHasRules: "RH029",
  /** The cookies do not prove a live session. */
  notSignedIn: "RH400",
  /** The cookies prove no user with the Console role. */
  consoleRejected: "RH402",
  /** The user's sign-in is too old for this action. */
  signInTooOld: "RH403",
  /** The role of the person does not allow the action on the table. */
  roleRejected: "RH404",
  /** The user has postponed a required second factor for too long. */
  secondFactorNeeded: "RH405",
  /** A row is larger than the maximum response; the detail is its id. */
  rowTooLarge: "RH413",
  /** A setting of the app stops its writes and pushes. */
  writesStopped: "RH503",
  /** A generated function was called without a live proof of its app with its scope. */
  keyRejected: "RH401",
} as const;
