/**
 * `bun test/upgrade/freeze_older.ts <revision>` writes `older/<revision>.json.zst`: a database of a baseline before 0.1.0, which
 * `admin move-database` must move. The revision's own tests fill it, on Debian's PostgreSQL 15. Needs the history of git, so
 * the files are committed.
 *
 * @module
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { startDebianCluster } from "../support/debian_cluster.ts";

const FILLER = "test/upgrade/fill_older.ts";
const [revision] = process.argv.slice(2);
if (revision === undefined) throw new Error("Name a revision, such as 54a9feb9");
const folder = mkdtempSync(join(tmpdir(), "rowhouse-older-"));
const tree = join(folder, "tree");
await run(["git", "worktree", "add", "--detach", tree, revision], ROOT);
try {
  await run([process.execPath, "install", "--frozen-lockfile"], tree);
  mkdirSync(join(tree, "test/upgrade"), { recursive: true });
  copyFileSync(join(ROOT, FILLER), join(tree, FILLER));
  const file = join(folder, "filled.json");
  const cluster = await startDebianCluster({ password: crypto.randomUUID() });
  try {
    const env = { ADMIN_DATABASE_URL: cluster.url, DATABASE_URL: "", OLDER_FILE: file };
    await run([process.execPath, "test", "--timeout", "120000", `./${FILLER}`], tree, env);
  } finally {
    await cluster.stop();
  }
  const packed = await Bun.zstdCompress(await Bun.file(file).bytes(), { level: 19 });
  await Bun.write(join(import.meta.dirname, `older/${revision}.json.zst`), packed);
} finally {
  await run(["git", "worktree", "remove", "--force", tree], ROOT);
  rmSync(folder, { recursive: true, force: true });
}

async function run(
  command: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<void> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed`);
}
