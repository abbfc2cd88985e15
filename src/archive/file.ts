/**
 * The file of an app's archive. Its first line describes the app. Blocks of rows follow: a line with the table and the row count,
 * then one JSON line per row. The last lines have the digests of the tables and of everything before. The file is written
 * completely or not at all, only its owner can read it, and it is read in chunks.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { APP_SWITCH_NAMES, isArchived, toDashed } from "../app_switch.ts";
import { describeUnreadable, FORMATS, nameFormat } from "../format.ts";
import { ARCHIVE_BATCH, MAX_PER_MINUTE, type RowLines } from "../records/apps/mod.ts";
import { readDefinition, type TableDefinition } from "../schema/mod.ts";
import { anyNames } from "../std/any_names.ts";
import { canonicalJson, isObject, tryParseJson } from "../std/json.ts";
import { findSince } from "../tables/mod.ts";

/** The file, or the app, does not allow the export or import. The message names the next step. */
export class ArchiveError extends Error {}

/** The version of the format changes with the header, the blocks, and the settings that `on` can name. */
const FORMAT = "rowhouse app archive";

export type ArchiveHeader = Omit<v.InferOutput<typeof Header>, "format" | "version" | "tables"> & {
  tables: TableDefinition[];
};
/** The row count of a table, and the SHA-256 of its lines. */
export type TableDigest = { rows: number; sha256: string };
export type TableDigests = Readonly<Record<string, TableDigest>>;
export type Archive = { header: ArchiveHeader; tables: TableDigests };

export type WriteBlock = (table: string, rows: RowLines) => Promise<void>;

/** @throws {ArchiveError} the file exists */
export async function writeArchive(
  path: string,
  header: ArchiveHeader,
  writeRows: (writeBlock: WriteBlock) => Promise<TableDigests>,
): Promise<void> {
  if (existsSync(path)) throw new ArchiveError(`File ${path} already exists: choose another name`);
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const file = await open(temporary, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    const write = async (text: string) => {
      hash.update(text);
      await file.writeFile(text);
    };
    await write(
      `${JSON.stringify({ format: FORMAT, ...nameFormat("archive", findSince(header.tables) === undefined ? 2 : 3), ...header })}\n`,
    );
    const tables = await writeRows(async (table, { count, lines }) => {
      await write(`${JSON.stringify({ table, rows: count })}\n`);
      await write(lines);
    });
    await write(`${JSON.stringify({ tables })}\n`);
    await file.writeFile(`${JSON.stringify({ sha256: hash.digest("hex") })}\n`);
    await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

export function makeTableDigest(): { add: (rows: RowLines) => void; end: () => TableDigest } {
  const hash = createHash("sha256");
  let rows = 0;
  return {
    add: ({ count, lines }) => {
      rows += count;
      hash.update(lines);
    },
    end: () => ({ rows, sha256: hash.digest("hex") }),
  };
}

export type Block = { table: string; rows: RowLines };

const Targets = v.object({ origins: v.array(v.string()), redirects: v.array(v.string()) });
const Limit = v.nullable(
  v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PER_MINUTE)),
);
/** A setting that is on, by its name in commands. A setting that stops the app is not archived. */
const On = v.picklist(APP_SWITCH_NAMES.filter(isArchived).map(toDashed));
const Header = v.object({
  format: v.literal(FORMAT),
  /** Version 3 has kinds of columns that releases before 0.2.0 do not know. */
  version: v.picklist([2, 3]),
  slug: v.string(),
  targets: Targets,
  limits: v.object({ perMinute: Limit, perMinuteOfKey: Limit }),
  on: v.array(On),
  roles: v.array(v.object({ email: v.string(), role: v.string() })),
  tables: v.array(v.unknown()),
  migrations: v.array(
    v.union([v.string(), v.object({ text: v.string(), joins: v.array(v.string()) })]),
  ),
});
/** Version 1 named the settings in fields of their own. */
const FirstVersion = v.pipe(
  v.object({
    format: v.literal(FORMAT),
    version: v.literal(1),
    settings: v.object({
      perMinute: Limit,
      perMinuteOfKey: Limit,
      isLive: v.boolean(),
      listsPeople: v.boolean(),
    }),
  }),
  v.transform(({ settings: { isLive, listsPeople, ...limits } }) => ({
    version: 2,
    limits,
    on: [...(isLive ? ["live"] : []), ...(listsPeople ? ["people-list"] : [])],
  })),
);
const BlockHead = v.object({
  table: v.string(),
  rows: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(ARCHIVE_BATCH.rows)),
});
const Digests = v.object({
  tables: anyNames(v.object({ rows: v.number(), sha256: v.string() })),
});
const End = v.object({ sha256: v.string() });

/**
 * Reads an archive and checks its format and every digest.
 *
 * @throws {ArchiveError} the file is not a complete and unchanged archive
 */
export async function checkArchive(path: string): Promise<Archive> {
  const found = new Map<string, ReturnType<typeof makeTableDigest>>();
  const archive = await readArchive(path, async (header, blocks) => {
    for (const { name } of header.tables) found.set(name, makeTableDigest());
    for await (const { table, rows } of blocks) {
      const digest = found.get(table);
      if (digest === undefined) throw broken(path);
      digest.add(rows);
    }
    return header;
  });
  const digests = Object.fromEntries([...found].map(([name, digest]) => [name, digest.end()]));
  if (canonicalJson(digests) !== canonicalJson(archive.tables)) throw broken(path);
  return { header: archive.result, tables: archive.tables };
}

/** Reads the blocks of a checked archive. */
export async function readBlocks(
  path: string,
  read: (block: Block) => Promise<void>,
): Promise<void> {
  await readArchive(path, async (_, blocks) => {
    for await (const block of blocks) await read(block);
  });
}

type ReadResult<Result> = { result: Result; tables: TableDigests };

async function readArchive<Result>(
  path: string,
  read: (header: ArchiveHeader, blocks: AsyncGenerator<Block>) => Promise<Result>,
): Promise<ReadResult<Result>> {
  const hash = createHash("sha256");
  const lines = readLines(path);
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw broken(path);
    return value;
  };
  const nextHashed = async (): Promise<string> => {
    const line = await next();
    hash.update(line);
    return line;
  };
  const header = readHeader(path, await nextHashed());
  let digests: TableDigests | undefined;
  const readAll = async function* (): AsyncGenerator<Block> {
    for (;;) {
      const line = tryParseJson(await nextHashed());
      const head = v.safeParse(BlockHead, line);
      if (!head.success) {
        digests = parse(path, Digests, line).tables;
        return;
      }
      yield { table: head.output.table, rows: await readRows(path, head.output.rows, nextHashed) };
    }
  };
  const result = await read(header, readAll());
  const sha256 = hash.digest("hex");
  const end = parse(path, End, tryParseJson(await next()));
  const isLast = (await lines.next()).done === true;
  if (digests === undefined || end.sha256 !== sha256 || !isLast) throw broken(path);
  return { result, tables: digests };
}

async function readRows(
  path: string,
  count: number,
  nextHashed: () => Promise<string>,
): Promise<RowLines> {
  const lines: string[] = [];
  let bytes = 0;
  for (let row = 0; row < count; row++) {
    const line = await nextHashed();
    bytes += Buffer.byteLength(line);
    if (bytes > ARCHIVE_BATCH.bytes && row > 0) throw broken(path);
    lines.push(line);
  }
  return { count, lines: lines.join("") };
}

function readHeader(path: string, line: string): ArchiveHeader {
  const value = tryParseJson(line);
  const isArchive = isObject(value) && value["format"] === FORMAT;
  const unreadable = isArchive ? describeUnreadable("archive", value) : undefined;
  if (unreadable !== undefined)
    throw new ArchiveError(`Cannot read ${path}: it ${unreadable}. Nothing was written`);
  const first = v.safeParse(FirstVersion, value);
  const header = v.safeParse(Header, first.success ? { ...Object(value), ...first.output } : value);
  if (!header.success)
    throw new ArchiveError(
      `Cannot read ${path}: must be an app archive, version 1 to ${FORMATS.archive.current}`,
    );
  const { format: _, version: __, ...rest } = header.output;
  const read = readDefinition({ version: 1, tables: rest.tables });
  if ("issues" in read) throw broken(path);
  const tables = new Map(read.definition.tables.map((table) => [table.name, table]));
  // In the order of the file: rows can be stored in this order.
  const names = rest.tables.map((table) => Object(table).name);
  return { ...rest, tables: names.flatMap((name) => tables.get(name) ?? []) };
}

function parse<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (!result.success) throw broken(path);
  return result.output;
}

function broken(path: string): ArchiveError {
  return new ArchiveError(
    `${path} is incomplete or was changed: its digest does not match. Nothing was written`,
  );
}

/** Max length of a line: the first contains all migrations. A missing line end must not fill the memory. */
const MAX_LINE_CHARS = 268_435_456;

/** The lines of a file, including their line ends. Searches each chunk once. */
async function* readLines(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let parts: string[] = [];
  let chars = 0;
  for await (const bytes of Bun.file(path).stream()) {
    const chunk = decoder.decode(bytes, { stream: true });
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      yield parts.join("") + chunk.slice(start, end + 1);
      parts = [];
      chars = 0;
      start = end + 1;
    }
    parts.push(chunk.slice(start));
    chars += chunk.length - start;
    if (chars > MAX_LINE_CHARS) throw broken(path);
  }
  const rest = parts.join("") + decoder.decode();
  if (rest !== "") yield rest;
}
