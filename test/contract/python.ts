/** Python packages, in environments that later runs use again. @module */
import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const TOOLS = join(import.meta.dirname, "requirements.txt");
const IS_ABLE = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/** The folder of the programs, or the reason why there are none. */
export type Python = { programs: string } | { missing: string };

/** Installs the locked packages, unless they are installed. */
export async function findPython(requirements = TOOLS): Promise<Python> {
  const python = Bun.which("python3");
  if (python === null || (await exitCodeOf([python, "-c", IS_ABLE])) !== 0)
    return { missing: "needs Python 3.11 or later with venv: apt install python3-venv" };
  const folder = join(cacheFolder(), `contract-${await toVersion(python, requirements)}`);
  const mark = Bun.file(join(folder, "installed"));
  const programs = join(folder, "bin");
  if (await mark.exists()) return { programs };
  rmSync(folder, { recursive: true, force: true });
  await run([python, "-m", "venv", folder]);
  const pip = [join(programs, "python"), "-m", "pip", "--disable-pip-version-check"];
  await run([...pip, "install", "--quiet", "--no-deps", "--requirement", requirements]);
  await Bun.write(mark, "");
  return { programs };
}

function cacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "rowhouse");
}

/** Returns a key of the environment. Other packages or another Python need another environment. */
async function toVersion(python: string, requirements: string): Promise<string> {
  const { out } = await run([python, "-c", "import sys; print(sys.version, sys.prefix)"]);
  const hasher = new Bun.CryptoHasher("sha256");
  return hasher
    .update(await Bun.file(requirements).text())
    .update(out)
    .digest("hex")
    .slice(0, 16);
}

async function exitCodeOf(command: string[]): Promise<number> {
  return await Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] }).exited;
}

type RunOptions = { folder?: string; env?: Readonly<Record<string, string>> };

/** Runs a command and returns its output. @throws {Error} the command failed; with all its output */
export async function run(
  command: string[],
  { folder = process.cwd(), env = {} }: RunOptions = {},
): Promise<{ out: string }> {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}:\n${out}${err}`);
  return { out };
}
