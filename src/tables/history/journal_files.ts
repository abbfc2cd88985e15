/**
 * The journal's folder: read completely, written one file at a time through a temporary name, and only after a COMMIT. After
 * a crash between the two, the next push writes the missing files from the database's record.
 *
 * @module
 */

import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../../problem.ts";
import { isLeftover, writeAtomically } from "../../std/files.ts";
import { errorCode } from "../../std/network.ts";
import { type JournalFile, journalFileName } from "./journal.ts";
import { type MigrationText, normalizeText } from "./migration_text.ts";

const ATTRIBUTES = ".gitattributes";
/** Checksums ignore line endings, but a checkout should still not change every file. */
const ATTRIBUTES_TEXT = "*.sql text eol=lf\n";

/**
 * All files in the folder except hidden files; empty without a folder.
 *
 * @throws {Problem} edited_migration — a file is not UTF-8
 */
export async function readJournal(folder: string): Promise<JournalFile[]> {
  const names = (await readNames(folder)).filter((name) => !name.startsWith("."));
  return await Promise.all(
    names.sort().map(async (file) => ({ file, text: decode(file, await read(folder, file)) })),
  );
}

/** Writes these migrations and git's attributes for them, and returns the names of changed files. */
export async function writeJournal(
  folder: string,
  migrations: readonly MigrationText[],
): Promise<string[]> {
  if (migrations.length === 0) return [];
  await mkdir(folder, { recursive: true });
  const names = await readNames(folder);
  // `force`: another push may have removed the file.
  for (const name of names.filter(isLeftover)) {
    await rm(join(folder, name), { force: true });
  }
  const written: string[] = [];
  for (const migration of migrations) {
    const file = journalFileName(migration);
    writeAtomically(join(folder, file), normalizeText(migration.text));
    written.push(file);
  }
  if (!names.includes(ATTRIBUTES)) writeAtomically(join(folder, ATTRIBUTES), ATTRIBUTES_TEXT);
  return written;
}

async function readNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** A folder inside the journal's folder has no text, and is reported by name like any unknown file. */
async function read(folder: string, file: string): Promise<Uint8Array> {
  try {
    return await readFile(join(folder, file));
  } catch (error) {
    if (errorCode(error) === "EISDIR") return new Uint8Array();
    throw error;
  }
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Problem("edited_migration", {
      message: `Cannot push: ${file} is not UTF-8; restore it from version control, or remove it and run rowhouse db pull`,
      cause: error,
    });
  }
}
