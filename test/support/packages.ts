/** Packs the packages in a copy of the repository, so that its own dist/ does not change. @module */
import { existsSync } from "node:fs";
import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./command.ts";

export const BIN = join(ROOT, "node_modules/.bin");
export const PACKAGES = ["rowhouse", "rowhouse-client"] as const;
export type PackageName = (typeof PACKAGES)[number];
const FOLDERS: Readonly<Record<PackageName, string>> = {
  rowhouse: ".",
  "rowhouse-client": "packages/client",
};

/** Packs both packages into a folder and returns their paths. */
export async function packAll(folder: string): Promise<Record<PackageName, string>> {
  const copy = join(folder, "rowhouse");
  for (const file of await listOwnFiles()) await cp(join(ROOT, file), join(copy, file));
  await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const { version } = await readManifest("rowhouse");
  const pack = async (name: PackageName) => {
    const command = [join(BIN, "bun"), "pm", "pack", "--destination", folder];
    await runTool(command, join(copy, FOLDERS[name]));
    return join(folder, `${name}-${version}.tgz`);
  };
  return { rowhouse: await pack("rowhouse"), "rowhouse-client": await pack("rowhouse-client") };
}

export function readManifest(name: PackageName) {
  return Bun.file(join(ROOT, FOLDERS[name], "package.json")).json();
}

/** Returns the repository's files, including files that are not committed. */
export async function listOwnFiles(): Promise<string[]> {
  const listed = await runTool(["git", "ls-files", "-co", "--exclude-standard"], ROOT);
  return listed
    .trim()
    .split("\n")
    .filter((file) => existsSync(join(ROOT, file)));
}

/** Runs a command and returns its standard output. @throws {Error} with all output, if the command failed */
export async function runTool(
  command: readonly string[],
  cwd: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = `${BIN}:${process.env["PATH"]}`;
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: path, HOME: process.env["HOME"] ?? cwd, ...settings },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return out;
  throw new Error(`Cannot run ${command.join(" ")}: ${out}${err}`);
}
