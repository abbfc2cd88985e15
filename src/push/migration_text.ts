/**
 * The text of a migration file, which belongs to the project and is the same at every service: a header with its number and
 * name, the definition that was pushed, the statements that it meant where it was made, and a last line with its checksum,
 * chained to the one before. A service takes only the definition from it, and never runs its statements.
 *
 * @module
 */

import { type Definition, QUOTAS, readDefinition } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { jsonDepth } from "../std/json_depth.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { Change } from "./change.ts";
import { readChange } from "./read_change.ts";

/** What identifies a migration. */
export type MigrationRecord = { seq: number; name: string; parent: string; checksum: string };

/** A migration of a project; `text` is its file. */
export type MigrationText = MigrationRecord & { text: string };

/** `sql`: the statements that ran at this service, without generated functions. */
export type Migration = MigrationText & { sql: string };

/** The parts of a migration file; nothing about them has been checked but their form. */
export type MigrationParts = {
  seq: number;
  name: string;
  /** As in the last line. */
  checksum: string;
  /** Everything before the last line: what the checksum is of. */
  body: string;
  definition: string;
  /** An explicit change, as JSON; absent from a migration that a diff led to. */
  change?: string;
};

/** The parent of an app's first migration. */
export const NO_PARENT = "";
/** Maximum size in bytes of a migration that an app's key may push or apply. */
export const MAX_MIGRATION_BYTES = 2_097_152;

const HEADER = /^-- rowhouse migration (\d{4})_([a-z0-9_]{1,40})\n/;
const WARNING = "-- written by rowhouse db push; do not edit: services refuse it";
const DEFINITION = "-- definition ";
const CHANGE = "-- change ";
const CHECKSUM = "-- checksum ";
const CHECKSUM_LINE = /^-- checksum (sha256:[0-9a-f]{64})\n$/;
/** The table's list, the table, its columns and so on enclose a default. */
const MAX_DEPTH = QUOTAS.defaultDepth + 8;

/** The file of a migration with its checksum. */
export function writeMigrationText(parts: {
  seq: number;
  name: string;
  parent: string;
  /** What it does, a line for each step. */
  steps: readonly string[];
  definition: Definition;
  change?: Change | undefined;
  /** The last of the project's migrations that it joins. */
  joins?: MigrationRecord | undefined;
  sql: string;
}): { checksum: string; text: string } {
  const header = [
    `-- rowhouse migration ${showMigration(parts)}`,
    ...parts.steps.map((step) => `--   ${step}`),
    ...(parts.joins === undefined ? [] : [showJoin(parts.joins)]),
    WARNING,
    DEFINITION + canonicalJson(parts.definition),
    ...(parts.change === undefined ? [] : [CHANGE + canonicalJson(parts.change)]),
  ];
  const body = normalise(`${header.join("\n")}\n${parts.sql}`);
  const checksum = checksumOf(parts.parent, body);
  return { checksum, text: `${body}${CHECKSUM}${checksum}\n` };
}

function showJoin(head: MigrationRecord): string {
  return `-- joins ${head.checksum} ${showMigration(head)}`;
}

/** The parts of a text; `undefined` if no push can have written it. */
export function splitMigrationText(text: string): MigrationParts | undefined {
  const normal = normalise(text);
  const end = normal.lastIndexOf("\n", normal.length - 2) + 1;
  const [, checksum] = CHECKSUM_LINE.exec(normal.slice(end)) ?? [];
  const [, digits = "", name] = HEADER.exec(normal) ?? [];
  const body = normal.slice(0, end);
  const start = body.indexOf(`\n${DEFINITION}`);
  const seq = Number(digits);
  if (checksum === undefined || name === undefined || start === -1 || seq === 0) return undefined;
  const from = start + 1 + DEFINITION.length;
  const to = body.indexOf("\n", from);
  const parts = { seq, name, checksum, body, definition: body.slice(from, to) };
  if (!body.startsWith(CHANGE, to + 1)) return parts;
  return { ...parts, change: body.slice(to + 1 + CHANGE.length, body.indexOf("\n", to + 1)) };
}

/** The explicit change in a migration, checked like any that is asked for; or what is wrong with it, as messages. */
export function readMigrationChange({
  change: json,
}: MigrationParts): { change?: Change } | { faults: string[] } {
  if (json === undefined) return {};
  const read = readChange(tryParseJson(json));
  if ("details" in read)
    return { faults: read.details.map(({ path, message }) => `change${path}: ${message}`) };
  if (canonicalJson(read.change) !== json)
    return { faults: ["The change is not in its canonical form"] };
  return read;
}

/** The definition in a migration, checked like any that is pushed; or what is wrong with it, as messages. */
export function readMigrationDefinition({
  definition: json,
  body,
}: MigrationParts): { definition: Definition } | { faults: string[] } {
  if (!isStorableText(body))
    return { faults: ["The text must not contain U+0000 or lone surrogates"] };
  if (jsonDepth(json) > MAX_DEPTH)
    return { faults: [`The definition is nested deeper than ${MAX_DEPTH}`] };
  const read = readDefinition(tryParseJson(json));
  if ("faults" in read)
    return {
      faults: read.faults.map(({ table, column, message }) =>
        [table, column, message].filter((part) => part !== undefined).join(": "),
      ),
    };
  // Otherwise two texts could mean one definition, and what is recorded would not be what was pushed.
  if (canonicalJson(read.definition) !== json)
    return { faults: ["The definition is not in its canonical form"] };
  return read;
}

/** `sha256:` of the parent's checksum and the text, normalized so that editors and checkouts do not change it. */
export function checksumOf(parent: string, body: string): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(parent).update(normalise(body)).digest("hex")}`;
}

/** UTF-8 without byte order mark, LF, one final newline. */
export function normalise(text: string): string {
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  // By hand: a pattern for the newlines at the end would take the square of their number anywhere in a hostile text.
  let end = lines.length;
  while (lines.charCodeAt(end - 1) === NEWLINE) end--;
  return `${lines.slice(0, end)}\n`;
}

const NEWLINE = 0x0a;

/** A migration by its number and name, as its file is called. */
export function showMigration({ seq, name }: Pick<MigrationRecord, "seq" | "name">): string {
  return `${String(seq).padStart(4, "0")}_${name}`;
}
