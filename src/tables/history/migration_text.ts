/**
 * The text of a migration file. It belongs to the project and is the same at every service: a header with its number and
 * name, the pushed definition, the statements at the service that created it, and a last line with its checksum,
 * which covers the previous checksum. A service uses only the definition, and never runs the file's statements.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { describeUnreadable } from "../../format.ts";
import { SQL } from "../../kinds/mod.ts";
import { type Definition, QUOTAS, readDefinition } from "../../schema/mod.ts";
import { canonicalJson, tryParseJson } from "../../std/json.ts";
import { jsonDepth } from "../../std/json_depth.ts";
import { isStorableText } from "../../std/text.ts";
import { compareVersions } from "../../std/version.ts";
import type { Change } from "../plan/change.ts";
import { readChange } from "../read_change.ts";

/** The identity of a migration in the database. */
export type MigrationRecord = { seq: number; name: string; parent: string; checksum: string };

/** A migration of a project; `text` is its file. */
export type MigrationText = MigrationRecord & { text: string };

/** A migration in the database. `sql`: the statements that ran at this service, without generated functions. */
export type Applied = MigrationText & { sql: string };

/** A migration of a project: its file in parts. Only their format is checked. */
export type Migration = {
  text: string;
  seq: number;
  name: string;
  checksum: string;
  /** Everything before the last line: the input of the checksum. */
  body: string;
  definition: string;
  /** An explicit change as JSON; absent if the migration is the result of a diff. */
  change?: string;
};

/** The first release that knows all kinds of columns; `undefined`: every release. */
export function findSince(tables: Definition["tables"]): string | undefined {
  const since = tables.flatMap(({ columns }) =>
    columns.flatMap(({ kind }) => SQL[kind].since ?? []),
  );
  return since.sort(compareVersions).at(-1);
}

export const NO_PARENT = "";
/** Max bytes of a migration that an app's key can push or apply. */
export const MAX_MIGRATION_BYTES = 2_097_152;

/** Version 2 has kinds of columns that releases before 0.2.0 do not know. */
const HEADER =
  /^-- rowhouse migration (\d{4})_([a-z0-9_]{1,40})(?:, version 2 \(rowhouse [^)\n]{1,60}\))?\n/;
/** The first line of a later version of the format, which {@linkcode HEADER} rejects, also in releases before 0.1.0. */
const NEWER_HEADER =
  /^-- rowhouse migration \d{4}_[a-z0-9_]{1,40}, version (\d{1,4}) \(rowhouse ([^)\n]{1,60})\)\n/;
const WARNING = "-- written by rowhouse db push; do not edit: services refuse it";
const DEFINITION = "-- definition ";
const CHANGE = "-- change ";
const CHECKSUM = "-- checksum ";
const CHECKSUM_LINE = /^-- checksum (sha256:[0-9a-f]{64})\n$/;
/** Adds the levels around a default: the steps of a push, the list of tables, the table, its columns and so on. */
export const MAX_DEPTH = QUOTAS.defaultDepth + 8;

export function writeMigrationText(parts: {
  seq: number;
  name: string;
  parent: string;
  steps: readonly string[];
  definition: Definition;
  change?: Change | undefined;
  /** The last project migration that the migration joins. */
  joins?: MigrationRecord | undefined;
  sql: string;
}): { checksum: string; text: string } {
  const since = findSince(parts.definition.tables);
  const version = since === undefined ? "" : `, version 2 (rowhouse ${since})`;
  const header = [
    `-- rowhouse migration ${showMigration(parts)}${version}`,
    ...parts.steps.map((step) => `--   ${step}`),
    ...(parts.joins === undefined ? [] : [showJoin(parts.joins)]),
    WARNING,
    DEFINITION + canonicalJson(parts.definition),
    ...(parts.change === undefined ? [] : [CHANGE + canonicalJson(parts.change)]),
  ];
  const body = normalizeText(`${header.join("\n")}\n${parts.sql}`);
  const checksum = checksumOf(parts.parent, body);
  return { checksum, text: `${body}${CHECKSUM}${checksum}\n` };
}

function showJoin(head: MigrationRecord): string {
  return `-- joins ${head.checksum} ${showMigration(head)}`;
}

/** The parts of a text; `undefined` if push cannot have written it. */
export function splitMigrationText(text: string): Migration | undefined {
  const normal = normalizeText(text);
  const end = normal.lastIndexOf("\n", normal.length - 2) + 1;
  const [, checksum] = CHECKSUM_LINE.exec(normal.slice(end)) ?? [];
  const [, digits = "", name] = HEADER.exec(normal) ?? [];
  const body = normal.slice(0, end);
  const start = body.indexOf(`\n${DEFINITION}`);
  const seq = Number(digits);
  if (checksum === undefined || name === undefined || start === -1 || seq === 0) return undefined;
  const from = start + 1 + DEFINITION.length;
  const to = body.indexOf("\n", from);
  const parts = { text, seq, name, checksum, body, definition: body.slice(from, to) };
  if (!body.startsWith(CHANGE, to + 1)) return parts;
  return { ...parts, change: body.slice(to + 1 + CHANGE.length, body.indexOf("\n", to + 1)) };
}

/** Why a text cannot be read: the version of its format is newer than `reader` knows. */
export function describeNewerMigration(text: string, reader?: string): string | undefined {
  const [, version, rowhouse] = NEWER_HEADER.exec(normalizeText(text)) ?? [];
  return describeUnreadable("migration", { version: version && Number(version), rowhouse }, reader);
}

/** The explicit change in a migration, checked like a requested change; or the errors as messages. */
export function readMigrationChange({
  change: json,
}: Migration): { change?: Change } | { issues: string[] } {
  if (json === undefined) return {};
  const read = readChange(tryParseJson(json));
  if ("details" in read)
    return { issues: read.details.map(({ path, message }) => `change${path}: ${message}`) };
  if (canonicalJson(read.value) !== json)
    return { issues: ["The change is not in its canonical form"] };
  return { change: read.value };
}

/** The definition in a migration, checked like a pushed definition; or the errors as messages. */
export function readMigrationDefinition({
  definition: json,
  body,
}: Migration): { definition: Definition } | { issues: string[] } {
  if (!isStorableText(body))
    return { issues: ["The text must not contain U+0000 or lone surrogates"] };
  if (jsonDepth(json) > MAX_DEPTH)
    return { issues: [`The definition is nested deeper than ${MAX_DEPTH}`] };
  const read = readDefinition(tryParseJson(json));
  if ("issues" in read)
    return {
      issues: read.issues.map(({ table, column, message }) =>
        [table, column, message].filter((part) => part !== undefined).join(": "),
      ),
    };
  // Otherwise two texts could have the same definition, and the record could differ from the pushed text.
  if (canonicalJson(read.definition) !== json)
    return { issues: ["The definition is not in its canonical form"] };
  return read;
}

/** `sha256:` of the parent's checksum and the text, normalized so that editors and checkouts do not change it. */
export function checksumOf(parent: string, body: string): string {
  return `sha256:${createHash("sha256").update(parent).update(normalizeText(body)).digest("hex")}`;
}

/** UTF-8 without byte order mark, LF, one final newline. */
export function normalizeText(text: string): string {
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  // Without a pattern: for the final newlines, its time would be quadratic in hostile text.
  let end = lines.length;
  while (lines.charCodeAt(end - 1) === NEWLINE) end--;
  return `${lines.slice(0, end)}\n`;
}

const NEWLINE = 0x0a;

/** A migration's number and name, as in its file name. */
export function showMigration({ seq, name }: Pick<MigrationRecord, "seq" | "name">): string {
  return `${String(seq).padStart(4, "0")}_${name}`;
}
