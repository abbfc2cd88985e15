/** Reads the body of a push: definition, journal and options, each checked completely. @module */
import { type Definition, QUOTAS, readDefinition } from "../dsl/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import type { Change } from "./change.ts";
import { type JournalEntry, MAX_MIGRATIONS } from "./journal.ts";
import { readChange } from "./read_change.ts";

export type PushBody = {
  definition: Definition;
  journal?: JournalEntry[];
  options: { dryRun: boolean; share: readonly string[] | undefined };
};

const KEYS = ["definition", "journal", "dryRun", "share"];
const CHECKSUM = /^sha256:[0-9a-f]{64}$/;

/**
 * A push's body.
 *
 * @throws {Problem} invalid_schema — with all errors of the definition and the rest of the body
 */
export function readPushBody(body: Readonly<Record<string, unknown>>): PushBody {
  const read = readDefinition(body["definition"]);
  const journal = readEntries(body["journal"]);
  const { dryRun, details: flagIssues } = readDryRun(body);
  const { share, details: shareIssues } = readShare(body);
  const details = [
    ...("issues" in read ? read.issues.map(toDetail) : []),
    ...("details" in journal ? journal.details : []),
    ...flagIssues,
    ...shareIssues,
    ...findUnknownKeys(body, KEYS),
  ];
  if ("issues" in read || "details" in journal || details.length > 0) throw invalid(details);
  return {
    definition: read.definition,
    ...(journal.entries === undefined ? {} : { journal: journal.entries }),
    options: { dryRun, share },
  };
}

export type ChangeBody = Pick<PushBody, "journal"> & {
  change: Change;
  options: { dryRun: boolean };
};

/**
 * The body of an explicit change.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export function readChangeBody(body: Readonly<Record<string, unknown>>): ChangeBody {
  const read = readChange(body["change"]);
  const journal = readEntries(body["journal"]);
  const { dryRun, details: flagIssues } = readDryRun(body);
  const details = [
    ...("details" in read
      ? read.details.map(({ path, message }) => ({ path: `/change${path}`, message }))
      : []),
    ...("details" in journal ? journal.details : []),
    ...flagIssues,
    ...findUnknownKeys(body, ["change", "journal", "dryRun"]),
  ];
  if ("details" in read || "details" in journal || details.length > 0) throw invalid(details);
  return {
    change: read.change,
    ...(journal.entries === undefined ? {} : { journal: journal.entries }),
    options: { dryRun },
  };
}

/**
 * A completely checked definition, from any source: names and defaults reach DDL only through this function.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export function checkDefinition(value: unknown): Definition {
  const read = readDefinition(value);
  if ("definition" in read) return read.definition;
  throw invalid(read.issues.map(toDetail));
}

type Issues = { details: Detail[] };

function readEntries(value: unknown): { entries: JournalEntry[] | undefined } | Issues {
  if (value === undefined) return { entries: undefined };
  if (!Array.isArray(value) || value.length > MAX_MIGRATIONS) {
    const message = `Cannot read the journal: must be a list of at most ${MAX_MIGRATIONS} { seq, checksum }`;
    return { details: [{ path: "/journal", message }] };
  }
  const wrong = value.findIndex((entry: unknown) => !isEntry(entry));
  if (wrong === -1) return { entries: value as JournalEntry[] };
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

export function readDryRun(body: Readonly<Record<string, unknown>>): {
  dryRun: boolean;
  details: Detail[];
} {
  const { dryRun } = body;
  if (dryRun === undefined || typeof dryRun === "boolean")
    return { dryRun: dryRun === true, details: [] };
  const message = "Cannot read dryRun: must be true or false";
  return { dryRun: false, details: [{ path: "/dryRun", message }] };
}

/** The tables of other apps that a push may start to use; `undefined` for all tables. */
export function readShare(body: Readonly<Record<string, unknown>>): {
  share: readonly string[] | undefined;
  details: Detail[];
} {
  const { share } = body;
  if (share === undefined) return { share, details: [] };
  const isList = Array.isArray(share) && share.length <= QUOTAS.tables;
  if (isList && share.every((name): name is string => typeof name === "string"))
    return { share, details: [] };
  const message = `Cannot read share: must be a list of up to ${QUOTAS.tables} table names`;
  return { share: undefined, details: [{ path: "/share", message }] };
}

export function findUnknownKeys(body: object, known: readonly string[]): Detail[] {
  const message = `Cannot read this key: must be one of ${known.join(", ")}`;
  return Object.keys(body)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: `/${key.slice(0, 100)}`, message }));
}

export function toDetail(issue: { table?: string; column?: string; message: string }): Detail {
  const parts = [issue.table, issue.column].filter((part) => part !== undefined);
  return { path: parts.map((part) => `/${part}`).join(""), message: issue.message };
}

export function invalid(details: Detail[]): Problem {
  const count = details.length;
  return new Problem("invalid_schema", {
    message: `Cannot push: the definition has ${count} ${count === 1 ? "error" : "errors"}; nothing was written`,
    details,
  });
}
