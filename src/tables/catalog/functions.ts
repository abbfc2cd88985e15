/**
 * The functions of a column set as their callers see them: their names, their arguments, and whether a call can be
 * retried. Push, drift, refresh and the data endpoints share these definitions. Pure.
 *
 * @module
 */

import {
  CURSOR_END,
  type Dialect,
  type DialectName,
  dialectOf,
  ENDPOINTS,
  type Endpoint,
  echoColumn,
  FORMER_ENDPOINTS,
  type FormerEndpoint,
  NODE_FUNCTIONS,
  type OwnEndpoint,
  PLAIN,
  PLAIN_END,
  quoteName,
  SET_FUNCTIONS,
  type SetFunction,
  SHARED_ENDPOINTS,
  type SharedEndpoint,
  TAG_LENGTH,
} from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { quoteElement } from "../../std/quote.ts";
import { type ColumnSet, hashColumnSet } from "./catalog.ts";

export {
  ALL_ENDPOINTS,
  type Endpoint,
  NO_MATCHES,
  ROW_MATCH,
  SET_FUNCTIONS,
  type SetFunction,
  TAG_LENGTH,
  TOO_MANY_REFERENCED,
  TOO_MANY_ROWS,
} from "../../db/mod.ts";

/** What the functions and indexes of a database depend on: no setting changes them. */
export type FunctionSite = { readonly dialect: DialectName };

/** Whether one server has the rows. The nodes of a cluster create rows one by one, and walk along no index. */
export function isOneServer(site: FunctionSite): boolean {
  return !dialectOf(site).hasNodes;
}

/** The functions that a set for API keys has. */
export function functionsAt(site: FunctionSite): readonly SetFunction[] {
  return isOneServer(site) ? SET_FUNCTIONS : NODE_FUNCTIONS;
}

/** The endpoints without which a table cannot be served. Until a database of an earlier release is migrated, only requests to others fail. */
export const REQUIRED: readonly Endpoint[] = ENDPOINTS;

/** The role that owns apps' tables and types, and nothing else: pushes run as this role. */
export const TABLE_OWNER = "rowhouse_tables";
/** The role that owns the functions and that they run as: row security applies to it. */
export const FUNCTION_OWNER = "rowhouse_tenant";
/** The result of a write function if the row has none of the requested tags. */
export const NO_MATCH = "412";
/** The member of `bodies` of `create_many` with which processes of 0.1 update rows: a list of bodies. */
export const UPDATES = "updates";
/** What `known` of a list begins with: whether the page ends in a cursor. Processes before 0.2.0 send only tags. */
export const PAGE_ENDS = { cursor: CURSOR_END, plain: PLAIN_END } as const;
/** The details of errors of a person's list: it would sort too many rows, or skip too many of several walks. */
export const RULE_VISITS = "rule";
export const RULE_OFFSET = "offset";
/** The start of a group's line for a row that violates a rule, after its id. */
export const REJECTED = "E";

const FUNCTION_CALLERS = ["rowhouse_service", "rowhouse_data"] as const;

/** The roles that may execute a function of a set. */
export function callersOf(name: SetFunction): readonly string[] {
  return name === "terms" ? [] : FUNCTION_CALLERS;
}

/** Argument types as statements name them, and as PostgreSQL prints them. */
const TYPES = {
  uuid: { name: "pg_catalog.uuid", printed: "uuid" },
  uuids: { name: "pg_catalog.uuid[]", printed: "uuid[]" },
  int4: { name: "pg_catalog.int4", printed: "integer" },
  int4s: { name: "pg_catalog.int4[]", printed: "integer[]" },
  bool: { name: "pg_catalog.bool", printed: "boolean" },
  text: { name: "pg_catalog.text", printed: "text" },
  texts: { name: "pg_catalog.text[]", printed: "text[]" },
  bytea: { name: "pg_catalog.bytea", printed: "bytea" },
  tags: { name: "pg_catalog.text", printed: "text" },
  claim: { name: "pg_catalog.bytea", printed: "bytea" },
  claims: { name: "pg_catalog.bytea[]", printed: "bytea[]" },
  bound: { name: "pg_catalog.int4", printed: "integer" },
  position: { name: "pg_catalog.text[]", printed: "text[]" },
} as const;
type ValueOf = {
  uuid: string;
  uuids: readonly string[];
  int4: number;
  int4s: readonly number[];
  bool: boolean;
  text: string;
  texts: readonly string[];
  bytea: Uint8Array;
  tags: string | null;
  claim: Uint8Array | null;
  claims: readonly (Uint8Array | null)[] | null;
  bound: number | null;
  position: readonly string[] | null;
};

const ARGUMENTS = {
  app: "uuid",
  /** The proof of a live key of that app with the scope for the call. */
  proof: "bytea",
  /** The start of the names of a set's functions, for a function of all sets. */
  set: "text",
  /** The id of the existing or new row. */
  id: "uuid",
  /** The ids of new rows, in ascending order; of rows to update, in any order; of rows to find, or of the rows that they refer to. */
  ids: "uuids",
  /** The sent columns, as a checked JSON object. */
  body: "text",
  /** The columns of each row, in the order of the ids, as a JSON array; for `create_many` also an object with {@linkcode UPDATES}. */
  bodies: "text",
  /** The maximum number of rows. */
  limit: "int4",
  offset: "int4",
  /** Max bytes of the response: exact for a row or a batch, within one row for a list. */
  bytes: "int4",
  /** The accepted tags of the row for a write, separated by commas; `null` accepts any. */
  match: "tags",
  /** The tags of the page that the caller has, separated by commas; of a list after one of {@linkcode PAGE_ENDS}. */
  known: "tags",
  /** Above about this many bytes, the function returns only the tag of the page; `null`: no limit. */
  inline: "bound",
  /** The query's path, filters and order, as JSON: columns by name, values by number. */
  plan: "text",
  /** The values of a query's conditions. */
  values: "texts",
  /** The name of the index along which a walk reads the page; empty: the primary key. */
  index: "text",
  isDescending: "bool",
  /** A value for each term of the index: where the page begins and ends, both inclusive; `null`: it has only rows without a first value. */
  start: "position",
  stop: "position",
  /** Where the rows without a first value begin, by the terms after it; `null`: the page does not have them. */
  nulls: "position",
  /** The selected columns by number; empty: all. */
  picked: "int4s",
  /** The columns of the order by number. */
  order: "int4s",
  /** The text of the order in a cursor. A second line has the relations of the page, as JSON. */
  cursor: "text",
  /** The cursor after which changes are read; `null` returns the current cursor. */
  since: "tags",
  /** The columns of a unique constraint, by number. */
  unique: "int4s",
  /** The names of its index in the plain form, and in the form for searches; empty: it has none. */
  indexes: "texts",
  /** The positions of the rows in the order in which they are locked. */
  sequence: "int4s",
  /** Whether rows that exist remain as they are. */
  isIgnored: "bool",
  /** The idempotency key and its request, in the format of `rowhouse.claim_key`; `null` without a key. */
  claim: "claim",
  /** Whether matching rows after the first `limit` remain as they are; otherwise they are an error. */
  isPart: "bool",
  /** Whether the rows are only counted. */
  isDry: "bool",
  /** The claims of rows from several requests, in the order of the ids; `null` if none of them has a key. */
  claims: "claims",
} as const satisfies Readonly<Record<string, keyof typeof TYPES>>;
type Argument = keyof typeof ARGUMENTS;

/** The first arguments of every function: the caller. */
const OF_CALLER = ["app", "proof"] as const satisfies readonly Argument[];
/** The next one of a function of all sets. */
const OF_SET = ["set"] as const satisfies readonly Argument[];
/** The scope that a function requires of the key, and its other arguments. */
const OF_ENDPOINT = {
  list: { scope: "data:read", values: ["limit", "offset", "bytes", "known", "inline"] },
  get: { scope: "data:read", values: ["id", "bytes"] },
  create: { scope: "data:write", values: ["id", "body", "bytes", "claim"] },
  create_many: { scope: "data:write", values: ["ids", "bodies", "bytes", "claim"] },
  create_group: { scope: "data:write", values: ["ids", "bodies", "bytes", "claims"] },
  update: { scope: "data:write", values: ["id", "body", "bytes", "match", "claim"] },
  update_many: { scope: "data:write", values: ["ids", "bodies", "bytes", "claim"] },
  delete: { scope: "data:write", values: ["id", "match"] },
  find: { scope: "data:read", values: ["plan", "values", "bytes", "known"] },
  find_groups: { scope: "data:read", values: ["plan", "values", "bytes", "known"] },
  walk: {
    scope: "data:read",
    values: [
      ...["index", "isDescending", "start", "stop", "nulls", "limit"],
      ...["picked", "order", "cursor", "bytes", "known", "inline"],
    ],
  },
  upsert: {
    scope: "data:write",
    values: ["ids", "bodies", "unique", "indexes", "sequence", "isIgnored", "bytes", "claim"],
  },
  update_keyed: { scope: "data:write", values: ["bodies", "unique", "indexes", "bytes", "claim"] },
  update_found: {
    scope: "data:write",
    values: ["plan", "values", "limit", "isPart", "isDry", "body", "bytes", "claim"],
  },
  delete_found: {
    scope: "data:write",
    values: ["plan", "values", "limit", "isPart", "isDry", "claim"],
  },
  changes: { scope: "data:read", values: ["since", "limit", "bytes"] },
} as const satisfies Readonly<
  Record<Endpoint, { scope: "data:read" | "data:write"; values: readonly Argument[] }>
>;

export function scopeOf(endpoint: Endpoint): "data:read" | "data:write" {
  return OF_ENDPOINT[endpoint].scope;
}

type CallerArgument = (typeof OF_CALLER)[number];
type EndpointArgument<E extends Endpoint> = (typeof OF_ENDPOINT)[E]["values"][number];
type Values<Name extends Argument> = { readonly [N in Name]: ValueOf[(typeof ARGUMENTS)[N]] };

type Caller = Values<CallerArgument>;

/** An endpoint, with the arguments of its function except the caller. */
export type EndpointCall = {
  [E in Endpoint]: { readonly endpoint: E; readonly values: Values<EndpointArgument<E>> };
}[Endpoint];

function argumentsOf(called: Endpoint | SetFunction, isOfSets = false): readonly Argument[] {
  if (called === "terms") return [];
  return [...OF_CALLER, ...(isOfSets ? OF_SET : []), ...OF_ENDPOINT[called].values];
}

/** Whether one function serves the endpoint for all sets. */
export function isShared(endpoint: Endpoint): endpoint is SharedEndpoint {
  return endpoint in SHARED_ENDPOINTS;
}

/** Characters of a table's name in a function's name: 32 + `__` + 16 + `_` + an endpoint fit into 63 bytes. */
export const TABLE_LENGTH = 32;

export type RecordedName = { readonly table: string; readonly hash: string };

export function functionName(
  set: ColumnSet | RecordedName,
  name: SetFunction | FormerEndpoint,
): string {
  return `${setName(set)}_${name}`;
}

/** The start of the names of a set's functions. */
export function setName(set: ColumnSet | RecordedName): string {
  const { table, hash } = "columns" in set ? { table: set.name, hash: hashColumnSet(set) } : set;
  return `${table.slice(0, TABLE_LENGTH)}__${hash}`;
}

/** A function as DDL names it: qualified, with the types of its arguments. */
export function functionSignature(set: ColumnSet | RecordedName, name: SetFunction): string {
  const types = argumentsOf(name).map((argument) => TYPES[ARGUMENTS[argument]].name);
  return `api.${quoteName(functionName(set, name))}(${types.join(", ")})`;
}

/** A function's name and arguments as PostgreSQL prints them. */
export function printedSignature(set: ColumnSet, name: SetFunction): string {
  return `${functionName(set, name)}(${printedArguments(name)})`;
}

/** The functions of a set that only processes of an earlier release call, as DDL names them. */
export function formerSignatures(set: ColumnSet | RecordedName): string[] {
  return Object.entries(FORMER_ENDPOINTS).map(
    ([name, types]) => `api.${quoteName(functionName(set, name as FormerEndpoint))}(${types})`,
  );
}

/** The types of a function's arguments as PostgreSQL's `oidvectortypes` prints them. */
export function printedArguments(name: Endpoint | SetFunction): string {
  return argumentsOf(name)
    .map((argument) => TYPES[ARGUMENTS[argument]].printed)
    .join(", ");
}

/** The placeholders of a function's arguments, `$1` and so on, by name. */
export function placeholdersOf<E extends Endpoint>(
  endpoint: E,
): Readonly<Record<CallerArgument | EndpointArgument<E>, string>> {
  const parameters = argumentsOf(endpoint).map((name, index) => [name, `$${index + 1}`]);
  return Object.fromEntries(parameters) as Record<CallerArgument | EndpointArgument<E>, string>;
}

/** Short reads, whose statements end in an echo. */
export const PIPELINED: ReadonlySet<Endpoint> = new Set(["get", "list", "walk"]);

/** The statement that calls a column set's function, with the parameters of {@linkcode toParameters}. */
export function callText(set: ColumnSet, endpoint: Endpoint, dialect: Dialect = PLAIN): string {
  const { call, echo } = callParts(set, endpoint);
  return PIPELINED.has(endpoint) ? dialect.callWithEcho(call, echo) : `select ${call} as body`;
}

/**
 * The same call, which reads nothing and has an empty body while the app has all its turns for queries that no index serves. A turn ends
 * with the statement.
 */
export function callInTurnText(
  set: ColumnSet,
  endpoint: Endpoint,
  { callWithEcho }: Dialect = PLAIN,
): string {
  const { call, echo } = callParts(set, endpoint);
  const { app, proof } = placeholdersOf(endpoint);
  const inTurn = `case when rowhouse.take_unindexed_turn(${app}, ${proof}) then ${call} else '' end`;
  return PIPELINED.has(endpoint) ? callWithEcho(inTurn, echo) : `select ${inTurn} as body`;
}

/** Endpoints that write one row, and can share a connection. A delete can delete many rows, by references. */
const BRIEF: ReadonlySet<Endpoint> = new Set(["create", "update"]);

/** The text of a call on a connection with several callers; `undefined` if it needs its own. */
export function briefCallText(
  set: ColumnSet,
  endpoint: Endpoint,
  { callBriefly }: Dialect,
): string | undefined {
  if (!BRIEF.has(endpoint)) return undefined;
  const { call, echo } = callParts(set, endpoint);
  return callBriefly?.(call, echo);
}

function callParts(set: ColumnSet, endpoint: Endpoint): { call: string; echo: string } {
  const parameters = argumentsOf(endpoint, isShared(endpoint)).map((_, index) => `$${index + 1}`);
  return {
    call: `${calledName(set, endpoint)}(${parameters.join(", ")})`,
    echo: echoColumn(parameters.length + 1),
  };
}

/** The function of an endpoint, as statements name it. */
export function calledName(set: ColumnSet, endpoint: Endpoint): string {
  return isShared(endpoint)
    ? `rowhouse.${SHARED_ENDPOINTS[endpoint]}`
    : `api.${quoteName(functionName(set, endpoint as OwnEndpoint))}`;
}

export function toParameters(
  set: ColumnSet,
  caller: Caller,
  call: EndpointCall,
): (string | number | boolean | Uint8Array | null)[] {
  // A call has all arguments of its endpoint, and only these are read.
  const values = { ...caller, set: setName(set), ...call.values } as Values<Argument>;
  return argumentsOf(call.endpoint, isShared(call.endpoint)).map((name) => {
    const value = values[name];
    // The driver does not know the types of arrays.
    return isList(value) ? `{${value.map(toElement).join(",")}}` : value;
  });
}

function toElement(element: string | number | Uint8Array | null): string {
  if (element === null) return "null";
  if (typeof element === "number") return String(element);
  if (typeof element !== "string") return `"\\\\x${element.toHex()}"`;
  return quoteElement(element);
}

function isList<Value>(value: Value): value is Extract<Value, readonly unknown[]> {
  return Array.isArray(value);
}

/** The error for functions from another release. @param cause PostgreSQL's error, if a call failed */
export function ofAnotherRelease(cause?: unknown): Problem {
  return new Problem("unavailable", {
    message:
      "The tables' functions are from another release: the operator must run rowhouse migrate",
    retryAfterS: 5,
    cause,
  });
}

// The tag of a row is a hash of the text that the row's function returns, so each state has its own
// tag.

/** The tag of a row's text. Write functions compute it in the same way. */
export function rowTag(text: Uint8Array): string {
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, TAG_LENGTH);
}
