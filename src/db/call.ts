/**
 * Calls the service's own SQL functions by name, with named arguments. `functions.ts`, which is generated from the
 * database, defines arguments, results and whether a call can be repeated.
 *
 * @module
 */

import { quoteElement, quoteLiteral, quoteName } from "../std/quote.ts";
import type {
  ArgumentsOf,
  FunctionShape,
  PassedValues,
  PresentedVisitor,
  ResultOf,
  SqlType,
} from "./call_types.ts";
import { FUNCTIONS } from "./functions.ts";
import type { Parameter } from "./pool/connection.ts";
import { type Database, echoColumn, SERVICE_QUEUE } from "./pool/mod.ts";

export type FunctionName = keyof typeof FUNCTIONS;
export type Arguments<Name extends FunctionName> = ArgumentsOf<(typeof FUNCTIONS)[Name]>;
export type Result<Name extends FunctionName> = ResultOf<(typeof FUNCTIONS)[Name]>;

type NameWith<Shape> = {
  [Name in FunctionName]: (typeof FUNCTIONS)[Name] extends Shape ? Name : never;
}[FunctionName];

/** A function that verifies the person of a browser. */
export type VisitorFunction = NameWith<{ caller: "visitor" }>;
/** A function that administrators can also run in the Console. */
export type ActionName = NameWith<{ input: object }>;
export type ActionInput<Name extends ActionName> = PassedValues<(typeof FUNCTIONS)[Name]["input"]>;

type FunctionCallOptions = {
  /** Defaults to {@linkcode SERVICE_QUEUE}. */
  queue?: string;
  /** Maps an error to the error to throw, such as a {@linkcode SignalError}. */
  reject?: (error: unknown) => unknown;
  /** Whether it is a short read, which can be pipelined. */
  isShort?: boolean;
  /** The browser that a {@linkcode VisitorFunction} verifies. */
  visitor?: PresentedVisitor;
};

/**
 * The function's result: its rows if it returns a set, otherwise one row or value.
 *
 * @throws {SignalError} a signal that the function raises
 */
export async function call<Name extends FunctionName>(
  db: Pick<Database, "query">,
  name: Name,
  values: Arguments<Name>,
  { reject, ...options }: FunctionCallOptions = {},
): Promise<Result<Name>> {
  try {
    return await send(db, name, values, options);
  } catch (error) {
    throw reject === undefined ? error : reject(error);
  }
}

/**
 * Runs an action in the Console, in the name of the visitor.
 *
 * @throws {SignalError} a signal that the action raises, or the visitor may not run it
 */
export async function callAction<Name extends ActionName>(
  db: Pick<Database, "query">,
  name: Name,
  input: ActionInput<Name>,
  options: { visitor: PresentedVisitor; reject: (error: unknown) => unknown },
): Promise<Result<Name>> {
  const shape: FunctionShape & { input: Readonly<Record<string, SqlType>> } = FUNCTIONS[name];
  const values: Readonly<Record<string, unknown>> = input;
  const typed = Object.entries(shape.input).map(([key, type]) => [key, toJson(type, values[key])]);
  const passed = { action: name, input: Object.fromEntries(typed) };
  const result = await call(db, "console_act", passed, options);
  const rows = (shape.isSet === true ? result : [{ [VALUE_COLUMN]: result }]) as Row[];
  // The cast is safe: one shape defines the type and the decoding.
  return makeDecode(name, shape, JSON_DECODERS)(rows) as Result<Name>;
}

/** The value as the dispatcher reads it: as JSON or as text. A value that is undefined is missing in the JSON text. */
function toJson(type: SqlType, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (type === "jsonb") return value;
  const text = encodeValue(type, value);
  if (text instanceof Uint8Array) return `\\x${Buffer.from(text).toString("hex")}`;
  return text instanceof Date ? text.toISOString() : String(text);
}

/** Returns whether a function, or an action in the Console, requires a recent sign-in. */
export function isForRecentSignIn(name: FunctionName): boolean {
  const { needs }: FunctionShape = FUNCTIONS[name];
  return needs !== undefined;
}

type SetName = NameWith<{ isSet: true }>;

type ItemOf<Rows> = Rows extends (infer Row)[] ? Row : never;

/** The only row of a function that returns a set. */
export async function callRow<Name extends SetName>(
  db: Pick<Database, "query">,
  name: Name,
  values: Arguments<Name>,
): Promise<ItemOf<Result<Name>>> {
  const [row] = (await call(db, name, values)) as ItemOf<Result<Name>>[];
  if (row === undefined) throw new Error(`rowhouse.${name} returned no row`);
  return row;
}

async function send<Name extends FunctionName>(
  db: Pick<Database, "query">,
  name: Name,
  values: Arguments<Name>,
  { queue = SERVICE_QUEUE, isShort = false, visitor }: Omit<FunctionCallOptions, "reject">,
): Promise<Result<Name>> {
  const { text, readText, encode, decode, retry } = findStatement(name);
  const parameters = encode(visitor === undefined ? values : { ...values, visitor });
  // A flood of one call, such as of forged cookies, leaves room for the service's other calls.
  const lane = queue === SERVICE_QUEUE ? { name } : undefined;
  const options = { retry, queue, lane };
  const rows = await (isShort
    ? db.query<Row>(readText, parameters, { ...options, length: "short" })
    : db.query<Row>(text, parameters, options));
  // The cast is safe: one shape defines the types and the columns of the statement.
  return decode(rows) as Result<Name>;
}

type Row = Record<string, unknown>;
type Statement = {
  text: string;
  /** With an echo as the last column. */
  readText: string;
  encode: (values: Readonly<Record<string, unknown>>) => Parameter[];
  decode: (rows: Row[]) => unknown;
  retry: "safe" | "unsafe";
};

const statements = new Map<FunctionName, Statement>();

/** Built at the first call and then reused, so that each connection prepares its text only once. */
function findStatement(name: FunctionName): Statement {
  const known = statements.get(name);
  if (known !== undefined) return known;
  const created = makeStatement(name, FUNCTIONS[name]);
  statements.set(name, created);
  return created;
}

/** The driver would encode the values of these types itself. */
const CASTS: Partial<Record<SqlType, string>> = {
  jsonb: "::pg_catalog.text::pg_catalog.jsonb",
  visitor: "::pg_catalog.text::rowhouse.visitor",
};

export function makeStatement(name: string, shape: FunctionShape): Statement {
  const { caller } = shape;
  const passed = Object.entries<SqlType>({
    ...(caller === "visitor" && { visitor: "visitor" }),
    ...shape.parameters,
  });
  const positions = passed.map(([argument, type], position) => {
    const cast = CASTS[type] ?? "";
    return `${quoteName(argument)} => $${position + 1}${cast}`;
  });
  if (caller === "operator") positions.push(`actor => ${quoteLiteral(OPERATOR)}`);
  const called = `rowhouse.${name}(${positions.join(", ")})`;
  const { selected, from } = renderResult(called, shape);
  const echo = echoColumn(passed.length + 1);
  return {
    text: `select ${selected}${from}`,
    readText: `select ${selected}, ${echo}${from}`,
    encode: (values) => passed.map(([argument, type]) => encodeValue(type, values[argument])),
    decode: makeDecode(name, shape),
    retry: shape.retry ?? "unsafe",
  };
}

/** The actor of commands in the audit log. */
export const OPERATOR = "operator";

const VALUE_COLUMN = "value";

function renderResult(called: string, { returns, isSet }: FunctionShape) {
  if (typeof returns !== "string") {
    const selected = Object.entries(returns).map(([column, type]) => renderColumn(column, type));
    return { selected: selected.join(", "), from: ` from ${called}` };
  }
  if (isSet !== true) return { selected: renderColumn(VALUE_COLUMN, returns, called), from: "" };
  return { selected: VALUE_COLUMN, from: ` from ${called} as called (${VALUE_COLUMN})` };
}

/** The driver parses JSON, but no arrays; and a time only in the format of one DateStyle, which a database can change. */
function renderColumn(column: string, type: string, value = quoteName(column)): string {
  const isJson = type.includes("[]") || type.startsWith("timestamptz");
  const read = isJson ? `pg_catalog.to_json(${value})` : value;
  return `${read} as ${quoteName(column)}`;
}

function encodeValue(type: SqlType, value: unknown): Parameter {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value) && type.endsWith("[]")) return toArrayText(type, value);
  if (type === "jsonb") return JSON.stringify(value);
  if (type === "visitor") return toRecordText(value as PresentedVisitor);
  if (type === "bytea" && !(value instanceof Uint8Array)) return Buffer.from(String(value), "hex");
  return value as Parameter;
}

/** @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function toArrayText(type: SqlType, items: readonly unknown[]): string {
  const texts = items.map((item) => (type === "bytea[]" ? `\\x${item}` : String(item)));
  return `{${texts.map(quoteElement).join(",")}}`;
}

/** @see https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX */
function toRecordText(visitor: PresentedVisitor): string {
  const { session_cookie, identity_cookie, idle_s, client_address } = visitor;
  return `(${[session_cookie, identity_cookie, idle_s, client_address].map((item) => quoteElement(`${item}`)).join(",")})`;
}

type Decode = (value: unknown) => unknown;

const toMoment: Decode = (value) => new Date(String(value));

/** Values that the driver does not return with the declared types. */
const DECODERS: Partial<Record<string, Decode>> = {
  int8: Number,
  timestamptz: toMoment,
  bytea: (value) => Buffer.from(value as Uint8Array).toString("hex"),
};

/** The same for values within JSON. */
const JSON_DECODERS: typeof DECODERS = {
  timestamptz: toMoment,
  bytea: (value) => String(value).slice(2),
};

function makeDecode(
  name: string,
  { returns, isSet }: FunctionShape,
  decoders = DECODERS,
): (rows: Row[]) => unknown {
  const columns = Object.entries(
    typeof returns === "string" ? { [VALUE_COLUMN]: returns } : returns,
  ).map(([column, type]) => ({
    column,
    decode: decoders[type.replace("?", "")],
    isNullable: type.endsWith("?"),
  }));
  const decodeRow = (found: Row): Row => {
    const row = { ...found };
    for (const { column, decode, isNullable } of columns) {
      const value = row[column];
      if (value === null && !isNullable)
        throw new Error(`rowhouse.${name} returned null for ${column}`);
      if (decode !== undefined && value !== null) row[column] = decode(value);
    }
    return row;
  };
  const decodeValue =
    returns === "void"
      ? () => undefined
      : typeof returns === "string"
        ? (row: Row) => decodeRow(row)[VALUE_COLUMN]
        : decodeRow;
  if (isSet === true) return (rows) => rows.map(decodeValue);
  return ([row]) => {
    if (row === undefined) throw new Error(`rowhouse.${name} returned no row`);
    return decodeValue(row);
  };
}
