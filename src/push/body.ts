/** Reads the bodies of pushes: definition, journal and options, each checked completely. @module */
import { type Definition, QUOTAS, readDefinition } from "../dsl/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import type { Change } from "./change.ts";
import { type JournalEntry, MAX_MIGRATIONS } from "./journal.ts";
import { readChange } from "./read_change.ts";

export type PushBody = {
  definition: Definition;
  journal: JournalEntry[] | undefined;
  options: { dryRun: boolean; share: readonly string[] | undefined };
};
export type ChangeBody = Pick<PushBody, "journal"> & {
  change: Change;
  options: { dryRun: boolean };
};

const CHECKSUM = /^sha256:[0-9a-f]{64}$/;

/** A push's body. @throws as {@linkcode readFields} */
export function readPushBody(body: Readonly<Record<string, unknown>>): PushBody {
  const { definition, journal, ...options } = readFields(body, {
    definition: readDefinitionField(body["definition"]),
    journal: readEntries(body["journal"]),
    dryRun: readDryRun(body["dryRun"]),
    share: readShare(body["share"]),
  });
  return { definition, journal, options };
}

/** The body of an explicit change. @throws as {@linkcode readFields} */
export function readChangeBody(body: Readonly<Record<string, unknown>>): ChangeBody {
  const { change, journal, ...options } = readFields(body, {
    change: readChangeField(body["change"]),
    journal: readEntries(body["journal"]),
    dryRun: readDryRun(body["dryRun"]),
  });
  return { change, journal, options };
}

/**
 * A completely checked definition, from any source: names and defaults reach DDL only through this function.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export function checkDefinition(value: unknown): Definition {
  const read = readDefinitionField(value);
  if ("value" in read) return read.value;
  throw invalid(read.details);
}

/** The value of a field, or its errors. */
export type FieldReading<Value> = { value: Value } | { details: Detail[] };
type Values<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends FieldReading<infer Value> ? Value : never;
};

/**
 * The values of a body's fields; no other field is known.
 *
 * @throws {Problem} invalid_schema — with all errors of the body
 */
export function readFields<Fields extends Readonly<Record<string, FieldReading<unknown>>>>(
  body: object,
  fields: Fields,
  known: readonly string[] = Object.keys(fields),
): Values<Fields> {
  const details = [
    ...Object.values(fields).flatMap((field) => ("details" in field ? field.details : [])),
    ...findUnknownKeys(body, known),
  ];
  if (details.length > 0) throw invalid(details);
  const values = Object.entries(fields).map(([name, field]) => [
    name,
    "value" in field ? field.value : undefined,
  ]);
  return Object.fromEntries(values) as Values<Fields>;
}

export function readDefinitionField(value: unknown): FieldReading<Definition> {
  const read = readDefinition(value);
  return "definition" in read ? { value: read.definition } : { details: read.issues.map(toDetail) };
}

function readChangeField(value: unknown): FieldReading<Change> {
  const read = readChange(value);
  if ("change" in read) return { value: read.change };
  return {
    details: read.details.map(({ path, message }) => ({ path: `/change${path}`, message })),
  };
}

function readEntries(value: unknown): FieldReading<JournalEntry[] | undefined> {
  if (value === undefined) return { value };
  if (!Array.isArray(value) || value.length > MAX_MIGRATIONS) {
    const message = `Cannot read the journal: must be a list of at most ${MAX_MIGRATIONS} { seq, checksum }`;
    return { details: [{ path: "/journal", message }] };
  }
  const wrong = value.findIndex((entry: unknown) => !isEntry(entry));
  if (wrong === -1) return { value: value as JournalEntry[] };
  const message = "Cannot read this entry: must be { seq: 1…9999, checksum: sha256:… }";
  return { details: [{ path: `/journal/${wrong}`, message }] };
}

function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== "object" || value === null) return false;
  const seq: unknown = Reflect.get(value, "seq");
  const checksum: unknown = Reflect.get(value, "checksum");
  const isSeq = Number.isInteger(seq) && Number(seq) >= 1 && Number(seq) <= MAX_MIGRATIONS;
  return isSeq && typeof checksum === "string" && CHECKSUM.test(checksum);
}

export function readDryRun(value: unknown): FieldReading<boolean> {
  if (value === undefined || typeof value === "boolean") return { value: value === true };
  const message = "Cannot read dryRun: must be true or false";
  return { details: [{ path: "/dryRun", message }] };
}

/** The tables of other apps that a push may start to use; `undefined` for all tables. */
export function readShare(value: unknown): FieldReading<readonly string[] | undefined> {
  if (value === undefined) return { value };
  const isList = Array.isArray(value) && value.length <= QUOTAS.tables;
  if (isList && value.every((name): name is string => typeof name === "string")) return { value };
  const message = `Cannot read share: must be a list of up to ${QUOTAS.tables} table names`;
  return { details: [{ path: "/share", message }] };
}

function findUnknownKeys(body: object, known: readonly string[]): Detail[] {
  const message = `Cannot read this key: must be one of ${known.join(", ")}`;
  return Object.keys(body)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: `/${key.slice(0, 100)}`, message }));
}

function toDetail(issue: { table?: string; column?: string; message: string }): Detail {
  const parts = [issue.table, issue.column].filter((part) => part !== undefined);
  return { path: parts.map((part) => `/${part}`).join(""), message: issue.message };
}

/** Max listed errors. The last entry then counts the rest. */
const MAX_DETAILS = 200;

function invalid(details: Detail[]): Problem {
  const count = details.length;
  const rest = count - MAX_DETAILS + 1;
  return new Problem("invalid_schema", {
    message: `Cannot push: the definition has ${count} ${count === 1 ? "error" : "errors"}; nothing was written`,
    details:
      rest <= 1
        ? details
        : [
            ...details.slice(0, MAX_DETAILS - 1),
            { path: "", message: `Cannot list ${rest} more errors: fix these first` },
          ],
  });
}
