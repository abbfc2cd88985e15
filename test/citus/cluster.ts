/**
 * A Citus cluster on this machine, a coordinator and two workers, whose extension is built from a source folder. The programs are a
 * copy of the installed PostgreSQL, so that nothing outside of the project changes.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { withDatabase } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import { type DebianCluster, startDebianCluster } from "../support/debian_cluster.ts";

/** Names the folder of the programs with the extension, for tests that start a cluster of their own. */
export const CITUS_BIN = "TEST_CITUS_BIN";
const WORKERS = 2;
const SETTINGS = [
  ...["shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=200"],
  ...["max_worker_processes=64", "max_connections=500"],
];

const PLUGINS = "output_plugin_libraries";

/** Builds the extension unless it is built. Returns the folder of the programs. @throws {Error} a step failed, with its output */
export function buildCitus(source: string): string {
  const ask = (option: string) => run("pg_config", [option]).trim();
  const [bin, share, include] = [ask("--bindir"), ask("--sharedir"), ask("--includedir-server")];
  const [, version = ""] =
    /^PACKAGE_VERSION='(.*)'$/m.exec(readFileSync(join(source, "configure"), "utf8")) ?? [];
  const server = ask("--version").replaceAll(/[^\w.]+/g, "-");
  const built = join(ROOT, "node_modules/.cache/citus", `${version}-${server}`);
  if (existsSync(built)) return join(built, bin);

  console.log(`Building Citus ${version} for ${server}: some minutes`);
  const [work, root] = [`${built}.source`, `${built}.part`];
  for (const folder of [work, root]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  cpSync(source, work, { recursive: true, verbatimSymlinks: true });
  if (readFileSync(join(include, "commands/dbcommands.h"), "utf8").includes(DECLARED))
    declareOnly(join(work, "src/include/pg_version_compat.h"));
  // Newer than its source: otherwise make generates it again, which needs autoconf.
  utimesSync(join(work, "configure"), new Date(), new Date());
  run("./configure", ["--without-libcurl"], work);
  run("make", ["-s", "-j", String(navigator.hardwareConcurrency)], work);
  for (const folder of [dirname(bin), share])
    cpSync(folder, join(root, folder), { recursive: true, verbatimSymlinks: true });
  run("make", ["-s", "install", `DESTDIR=${root}`], work);
  rmSync(work, { recursive: true });
  renameSync(root, built);
  return join(built, bin);
}

/** A function that PostgreSQL 15 has since 15.19, and that Citus 13.2 defines for it. */
const DECLARED = "have_createdb_privilege";
const DEFINITION = /static inline bool\nhave_createdb_privilege\(void\)\n\{[\s\S]*?\n\}\n/;

function declareOnly(header: string): void {
  const text = readFileSync(header, "utf8");
  writeFileSync(header, text.replace(DEFINITION, `extern bool ${DECLARED}(void);\n`));
}

function run(program: string, args: readonly string[], folder = ROOT): string {
  return execFileSync(program, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
}

export type CitusCluster = { url: string; stop: () => Promise<void> };

/** Starts the coordinator and the workers, each with the extension in the database `postgres`, and registers them. */
export async function startCitus(bin: string): Promise<CitusCluster> {
  const nodes: DebianCluster[] = [];
  const stop = async () => {
    for (const node of nodes) await node.stop();
  };
  // Since its last minor versions, PostgreSQL names the plugins that may decode.
  const isListed = run(join(bin, "postgres"), ["--describe-config"]).includes(PLUGINS);
  const settings = [...SETTINGS, ...(isListed ? [`${PLUGINS}=citus, pgoutput`] : [])];
  try {
    for (let n = 0; n <= WORKERS; n++) {
      const node = await startDebianCluster({ bin, settings });
      nodes.push(node);
      await withDatabase(node.url, (root) => root.message("create extension citus"));
    }
    const [coordinator, ...workers] = nodes.map(({ url }) => url) as [string, ...string[]];
    const call = (name: string, url: string) => {
      const { hostname, port } = new URL(url);
      return `select ${name}('${hostname}', ${port})`;
    };
    await withDatabase(coordinator, async (root) => {
      await root.message(call("citus_set_coordinator_host", coordinator));
      for (const worker of workers) await root.message(call("citus_add_node", worker));
    });
    return { url: coordinator, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
