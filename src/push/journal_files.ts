/**
 * The journal's folder: read whole, written one file at a time by way of a temporary name. Only after a COMMIT; what
 * a crash between the two leaves out, the next push writes from the database's record.
 *
 * @module
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../problem.ts";
import { type JournalFile, journalFileName } from "./journal.ts";
import { type Migration, normalise } from "./migration.ts";

const ATTRIBUTES = ".gitattributes";
/** Line ends are part of no checksum, and still a checkout should not make every file differ. */
const ATTRIBUTES_TEXT = "*.sql text eol=lf\n";
/** What a write that was cut off leaves behind: its name has the number of the process that wrote it. */
const TEMPORARY = /^\.[^/]*\.(\d+)\.tmp$/;

/**
 * Every file of the folder but hidden ones; none where there is no folder.
 *
 * @throws {Problem} edited_migration — a file is not UTF-8
 */
export async function readJournal(folder: string): Promise<JournalFile[]> {
  const names = (await readNames(folder)).filter((name) => !name.startsWith("."));
  return await Promise.all(
    names.sort().map(async (file) => ({ file, text: decode(file, await read(folder, file)) })),
  );
}

/** Writes these migrations, and what git should know of them; the names of the files that changed. */
export async function writeJournal(
  folder: string,
  migrations: readonly Migration[],
): Promise<string[]> {
  if (migrations.length === 0) return [];
  await mkdir(folder, { recursive: true });
  const names = await readNames(folder);
  // By force: another push may be clearing them too.
  for (const name of names.filter((one) => isLeftover(one))) {
    await rm(join(folder, name), { force: true });
  }
  const written: string[] = [];
  for (const migration of migrations) {
    const file = journalFileName(migration);
    await writeAtomically(join(folder, file), normalise(migration.sql));
    written.push(file);
  }
  if (!names.includes(ATTRIBUTES)) await writeAtomically(join(folder, ATTRIBUTES), ATTRIBUTES_TEXT);
  return written;
}

/** Writes a file whole or not at all. */
export async function writeAtomically(path: string, text: string): Promise<void> {
  const at = path.lastIndexOf("/") + 1;
  const temporary = `${path.slice(0, at)}.${path.slice(at)}.${process.pid}.tmp`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

/** Whether nobody is writing this temporary file any more. */
function isLeftover(name: string): boolean {
  const writer = TEMPORARY.exec(name)?.[1];
  if (writer === undefined || Number(writer) === process.pid) return false;
  try {
    process.kill(Number(writer), 0);
    return false;
  } catch {
    return true; // no such process
  }
}

async function readNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** A folder inside the journal's has no text; it is told by its name like any stray file. */
async function read(folder: string, file: string): Promise<Uint8Array> {
  try {
    return await readFile(join(folder, file));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EISDIR")
      return new Uint8Array();
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
