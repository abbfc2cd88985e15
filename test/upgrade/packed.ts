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

/** The path of the packed program, or of the packed database. */
export function toPath(version: string, content: "program" | "database"): string {
  return join(FOLDER, content === "program" ? `${version}${PROGRAM}` : `${version}.database.zst`);
}

export async function writePacked(path: string, bytes: Uint8Array | string): Promise<void> {
  await Bun.write(path, await Bun.zstdCompress(bytes, { level: 19 }));
}

/** A file that is too large to pack again for each version, and that no version changes. */
export const SHARED_FILE = "src/identity/passwords/known_passwords.bin";

/** An unpacked program. */
export type Program = { folder: string; remove: () => void };

/** Unpacks the program of a version into a temporary folder, with its dependencies. */
export async function unpackProgram(version: string): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-previous-"));
  const tar = await Bun.zstdDecompress(await Bun.file(toPath(version, "program")).bytes());
  await new Bun.Archive(tar).extract(folder);
  symlinkSync(join(ROOT, SHARED_FILE), join(folder, SHARED_FILE));
  if (hasDependenciesOf(folder))
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  else await install(folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
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
