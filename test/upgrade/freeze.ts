/**
 * `bun test/upgrade/freeze.ts HEAD` packs a version for the upgrade tests, after the last change of `src/` before its tag: its
 * program from git, and a database that its own commands and endpoints fill, on Debian's PostgreSQL 15. It writes
 * `versions/<version>.program.tar.zst` and `versions/<version>.database.zst`: commit both. A revision whose changelog has no date for
 * its version is named after its version and its hash. A version that has a tag is never packed again. All versions stay; the
 * rolling upgrade starts at the newest.
 *
 * @module
 */
import { mkdirSync } from "node:fs";
import { withDatabase } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import { runTool, startDebianCluster } from "../support/debian_cluster.ts";
import { openMailServer } from "../support/mail_server.ts";
import { type Call, callService, type TestApp } from "../support/service.ts";
import { createDatabase, finishDatabase, migrateAll, toAddresses, toOperator } from "./database.ts";
import { type Frozen, readContents } from "./frozen.ts";
import { FOLDER, isRelease, SHARED_FILES, toPath, unpackProgram, writePacked } from "./packed.ts";
import { startOurs, toProviderSettings } from "./provider.ts";
import { startServing } from "./serving.ts";
import { fillWorld } from "./world.ts";

/** What a server and its commands need. The manifests of the examples are in the lock. */
const CONTENT = [
  ...["src", "patches", "package.json", "bun.lock", "tsconfig.json"],
  ...["examples/board/package.json", "examples/todo/package.json", "deploy/superuser.sql"],
  ...Object.keys(SHARED_FILES).map((path) => `:(exclude)${path}`),
];

const [revision] = process.argv.slice(2);
if (revision === undefined) throw new Error("Name the revision: bun test/upgrade/freeze.ts HEAD");
const version = nameOf(revision);
if (isRelease(version) && git("tag", "--list", `v${version}`).length > 0)
  throw new Error(`${version} has the tag v${version}: it stays as it was released`);
mkdirSync(FOLDER, { recursive: true });
await writePacked(toPath(version, "program"), git("archive", revision, "--", ...CONTENT));
await writePacked(toPath(version, "database"), JSON.stringify(await fill()));
console.log(`Packed ${version}`);

/** Fills a database with the packed program, and dumps it. */
async function fill(): Promise<Frozen> {
  const { folder: program, remove } = await unpackProgram(version);
  const cluster = await startDebianCluster();
  const mails = await openMailServer();
  const provider = await startOurs();
  try {
    await createDatabase(cluster.url);
    const addresses = toAddresses(cluster.url);
    await migrateAll(addresses, program);
    await finishDatabase(addresses, program);
    const settings = {
      ...toProviderSettings(provider),
      MAIL_URL: mails.url,
      MAIL_FROM: "x@example.org",
    };
    const serving = await startServing({ program, addresses, shape: "one", workers: 1, settings });
    const { url } = serving;
    provider.register(`${url}/oidc/ours/callback`);
    const call = (app: TestApp | undefined, path: string, sent?: Call) =>
      callService({ url }, app, path, sent);
    const operator = toOperator(addresses);
    const world = await fillWorld({ url, call, operator, program, provider }).finally(serving.stop);
    const contents = await withDatabase(addresses.admin, (admin) => readContents(admin));
    return {
      madeAt: new Date().toISOString(),
      issuer: provider.settings.issuer,
      preview: addresses.preview,
      world,
      roles: runTool("pg_dumpall", ["--roles-only", `--dbname=${cluster.url}`]),
      dump: runTool("pg_dump", ["--create", "--inserts", addresses.admin]),
      contents,
    };
  } finally {
    await Promise.all([provider.stop(), mails.close(), cluster.stop()]);
    remove();
  }
}

function nameOf(revision: string): string {
  const { version } = JSON.parse(git("show", `${revision}:package.json`).toString()) as {
    version: string;
  };
  const changelog = git("show", `${revision}:CHANGELOG.md`).toString();
  if (changelog.includes(`\n## [${version}] - `)) return version;
  return `${version}-${git("rev-parse", "--short=8", revision).toString().trim()}`;
}

function git(...args: string[]): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...args], { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout;
}
