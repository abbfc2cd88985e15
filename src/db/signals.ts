/** What the service's own SQL raises on purpose: an SQLSTATE for each reason, shared by those who raise and handle it. @module */

/** All begin with these letters, which PostgreSQL does not use. */
export const SIGNAL_START = "RH";

export const SIGNALS = {
  /** Another push has the tables, or their owner. */
  pushBusy: "RH001",
  /** A push was planned on a state that has changed since. */
  catalogMoved: "RH002",
  /** Another process has applied the migration meanwhile. */
  alreadyMigrated: "RH003",
  unknownTable: "RH004",
  unknownApp: "RH005",
  /** The app has not pushed the table. */
  notItsTable: "RH006",
  /** What is to be recorded cannot come from a push of this app. */
  notItsPush: "RH007",
  /** Apps use the table still, the owner's own end or the drop of which was asked for. */
  tableInUse: "RH008",
  /** Another table refers to it. */
  tableReferredTo: "RH009",
  lastSuperAdmin: "RH010",
  unknownUser: "RH011",
  auditOnlyGrows: "RH012",
  /** Other attempts to sign in were counted meanwhile; never leaves the function that raises it. */
  signInThrottled: "RH013",
  /** An administrator asks for what only a super_admin may do. */
  superAdminNeeded: "RH014",
  /** The nodes of a cluster have not as many rows of each app as there were before. */
  rowsDiffer: "RH015",
  /** A job on apps' rows does not exist, or was taken back. */
  unknownJob: "RH016",
  /** The database does not keep apps apart, so nothing changes tables or functions of apps. */
  isolationBroken: "RH017",
  /** The address of a person who is to get a Console role was not set by the service. */
  addressUnconfirmed: "RH018",
  /** Rows have the value of an enum that is to be dropped. */
  valueInUse: "RH019",
  /** A row has a value that a retype cannot convert. */
  valueUnconverted: "RH023",
  /** A query would visit more rows than it may. */
  tooManyVisits: "RH020",
  /** The index that a query was planned for is not there, or not built yet. */
  indexMissing: "RH021",
  /** A plan names a column, an operator or a value that does not exist. */
  planInvalid: "RH022",
  /** The preview that an action needs is off. */
  previewOff: "RH023",
  /** No live session is proven by both cookies. */
  notSignedIn: "RH400",
  /** No one who may act from the Console presents these cookies. */
  consoleRefused: "RH402",
  /** Someone may, but signed in too long ago for such an act. */
  signInTooOld: "RH403",
  /** Someone may, but has put off a second factor for too long. */
  secondFactorNeeded: "RH405",
  /** A row is larger than an answer may be; the detail is its id. */
  rowTooLarge: "RH413",
  /** A generated function was called without a live proof of its app with its scope. */
  keyRefused: "RH401",
} as const;
