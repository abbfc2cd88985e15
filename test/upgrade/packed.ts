/** The versions that the tests upgrade from: each with its program and a database that it filled, packed by `freeze.ts`. @module */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ROOT } from "../support/command.ts";

export const FOLDER = join(import.meta.dirname, "versions");
const PROGRAM = ".program.tar.zst";

/** The names of the packed versions, oldest first. */
export const VERSIONS: readonly string[] = [
  ...new Bun.Glob(`versions/*${PROGRAM}`).scanSync({ cwd: import.meta.dirname }),
]
  .map((file) => basename(file, PROGRAM))
  .sort(Bun.semver.order);

/** The version that production runs when the working tree is released. */
export const PREVIOUS = VERSIONS.at(-1) ?? "";

/** The version whose upgrade has the most steps. */
export const OLDEST = VERSIONS[0] ?? "";

/** Whether a version was released. A build between two releases has a hash in its name. */
export function isRelease(version: string): boolean {
  return !version.includes("-");
}

/** The path of the packed program, or of the packed database. */
export function toPath(version: string, content: "program" | "database"): string {
  return join(FOLDER, content === "program" ? `${version}${PROGRAM}` : `${version}.database.zst`);
}

export async function writePacked(path: string, bytes: Uint8Array | string): Promise<void> {
  await Bun.write(path, await Bun.zstdCompress(bytes, { level: 19 }));
}

/** Files that are too large to pack again for each version, and that no version changes: their path in a program, and here. */
export const SHARED_FILES: Readonly<Record<string, string>> = {
  // The file of 0.1.0.
  "src/identity/passwords/known_passwords.bin": "test/upgrade/versions/known_passwords.bin",
  "src/identity/passwords/leaked_passwords.bin": "src/identity/passwords/leaked_passwords.bin",
};

/** An unpacked program. */
export type Program = { folder: string; remove: () => void };

/** Unpacks the program of a version into a temporary folder, with its dependencies. */
export async function unpackProgram(version: string): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-previous-"));
  const archive = await readArchive(version);
  await archive.extract(folder);
  for (const [path, source] of Object.entries(SHARED_FILES))
    symlinkSync(join(ROOT, source), join(folder, path));
  if (hasDependenciesOf(folder))
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  else await install(folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function readArchive(version: string): Promise<Bun.Archive> {
  const bytes = await Bun.file(toPath(version, "program")).bytes();
  return new Bun.Archive(await Bun.zstdDecompress(bytes));
}

/** The files of `src/` that differ between a folder and the packed program of a version. */
export async function findChanged(folder: string, version: string): Promise<string[]> {
  const packed = await (await readArchive(version)).files("src/**");
  const present = [...new Bun.Glob("src/**/*").scanSync({ cwd: folder })];
  const paths = new Set([...packed.keys(), ...present]);
  const changed: string[] = [];
  for (const path of paths) {
    if (path in SHARED_FILES) continue;
    const [one, other] = [packed.get(path), Bun.file(join(folder, path))];
    const isEqual =
      one !== undefined &&
      (await other.exists()) &&
      Buffer.from(await one.bytes()).equals(await other.bytes());
    if (!isEqual) changed.push(path);
  }
  return changed.sort();
}

/** Whether the working tree has installed the dependencies of an unpacked program, with the same patches. */
function hasDependenciesOf(folder: string): boolean {
  const { dependencies, patchedDependencies } = readJson(join(folder, "package.json"));
  return (
    Object.entries(dependencies).every(
      ([name, version]) => readVersion(join(ROOT, "node_modules", name)) === version,
    ) &&
    Object.values(patchedDependencies ?? {}).every((path) =>
      isSame(join(folder, path), join(ROOT, path)),
    )
  );
}

/** Installs what the version's own lock names. */
async function install(folder: string): Promise<void> {
  const command = [process.execPath, "install", "--frozen-lockfile", "--production"];
  const { exited, stderr } = Bun.spawn(command, { cwd: folder, stdout: "ignore", stderr: "pipe" });
  const errors = await new Response(stderr).text();
  if ((await exited) !== 0) throw new Error(`Cannot install the dependencies: ${errors}`);
}

type Package = {
  version: string;
  dependencies: Record<string, string>;
  patchedDependencies?: Record<string, string>;
};

function readJson(path: string): Package {
  return JSON.parse(readFileSync(path, "utf8")) as Package;
}

function readVersion(folder: string): string | undefined {
  const path = join(folder, "package.json");
  return existsSync(path) ? readJson(path).version : undefined;
}

function isSame(one: string, other: string): boolean {
  return existsSync(other) && readFileSync(one).equals(readFileSync(other));
}
