/**
 * `bun test/ci/newer_postgres.ts 18 test …`: runs `bun test …` with Debian's PostgreSQL 18 or 17, server and client tools, instead
 * of version 15. Unpacks the packages with their own C library into a temporary folder, and installs nothing.
 *
 * @module
 */
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { POSTGRES_BIN } from "../support/debian_cluster.ts";

/** The Debian release with each version. */
const RELEASES: Readonly<Record<string, string>> = { 17: "trixie", 18: "forky" };
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

const [version = "", ...args] = process.argv.slice(2);
const release = RELEASES[version];
if (release === undefined) throw new Error(`Name a version: ${Object.keys(RELEASES).join(" or ")}`);
const folder = mkdtempSync(join(tmpdir(), `rowhouse-postgres-${version}-`));
try {
  // The account that runs the server must be able to enter the folder.
  chmodSync(folder, 0o755);
  const bin = wrapPrograms(unpack(download()));
  const tests = Bun.spawn([process.execPath, ...args], {
    env: { ...process.env, [POSTGRES_BIN]: bin },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exitCode = await tests.exited;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Downloads the package and its dependencies, verifies their signatures, and returns the files. */
function download(): string[] {
  for (const path of ["state/lists/partial", "cache/archives/partial"])
    mkdirSync(join(folder, path), { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const sources = `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${release} main\n`;
  const settings = {
    "Dir::State": join(folder, "state"),
    // An empty status file: no package counts as installed, so apt downloads every library.
    "Dir::State::status": write("status", ""),
    "Dir::Cache": join(folder, "cache"),
    "Dir::Etc::SourceList": write("sources.list", sources),
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "APT::Install-Recommends": "false",
    "APT::Sandbox::User": "",
    "Debug::NoLocking": "true",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
  const APT_CONFIG = write("apt.conf", lines.join(""));
  const apt = (...args: string[]) => run(["apt-get", "-q", ...args], { APT_CONFIG });
  apt("update");
  apt("install", "--yes", "--download-only", `postgresql-${version}`);
  const archives = join(folder, "cache/archives");
  return [...new Bun.Glob("*.deb").scanSync({ cwd: archives, absolute: true })];
}

/** Unpacks the packages and returns the folder of their files. */
function unpack(packages: readonly string[]): string {
  const root = join(folder, "root");
  for (const path of packages) run(["dpkg-deb", "--extract", path, root]);
  return root;
}

/**
 * Replaces each program by a script that runs it with the loader and the libraries of its own release. Returns the folder of
 * the scripts. The programs find each other and their data by the path of the script.
 */
function wrapPrograms(root: string): string {
  const [loader] = new Bun.Glob("usr/lib/*/ld-linux*.so.*").scanSync({ cwd: root });
  if (loader === undefined) throw new Error(`The packages of ${release} have no loader`);
  const path = join(root, loader);
  const bin = join(root, `usr/lib/postgresql/${version}/bin`);
  for (const name of new Bun.Glob("*").scanSync({ cwd: bin })) {
    const program = join(bin, `.${name}`);
    renameSync(join(bin, name), program);
    const command = [path, "--library-path", join(path, ".."), "--argv0"];
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command.join(" ")} "$0" ${program} "$@"\n`, {
      mode: 0o755,
    });
  }
  return bin;
}

/** @throws {Error} the command failed; with its output */
function run(command: string[], env: Readonly<Record<string, string>> = {}): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env: { ...process.env, ...env } });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`);
}
