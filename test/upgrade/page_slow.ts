/**
 * The steps of docs/operating.md#upgrades with the previous version: backup, dry run, migrate, reload and doctor. Then both ways
 * back: the previous program on the upgraded database, and the backup in another cluster.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readBlocks } from "../docs/blocks.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import {
  DEBIAN_BIN,
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { toOperator } from "./database.ts";
import { type Contents, readContents } from "./frozen.ts";
import { PREVIOUS, unpackProgram } from "./packed.ts";
import { replaceProgram, type Serving, startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";
import { call } from "./world.ts";

const page = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
/** The commands of each block of a section. */
const readSection = (heading: string): string[] => {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  return readBlocks(rest.split("\n## ")[0] ?? "").map(({ code }) => code.trim());
};
const [UPGRADE = "", WAY_BACK = ""] = readSection("Upgrades");
const [LOGIN = "", SAVE = "", RESTORE = ""] = readSection("Backup");
const PAGES = "/v1/data/db/pages";
const BACKUP_PASSWORD = "backup";

/** The service's own rows differ: a running process writes statistics. */
const onlyRows = (contents: Contents): Contents =>
  Object.fromEntries(
    Object.entries(contents).filter(([name]) => name.startsWith("data.") || name.endsWith("_keys")),
  );

describe.skipIf(!hasDebianPostgres)("the steps of an upgrade", () => {
  let stage: Stage;
  let serving: Serving;
  let other: DebianCluster;
  let saved: Contents;
  let created: { id: string };
  beforeAll(async () => {
    [stage, other] = await Promise.all([openStage(PREVIOUS, "15"), startDebianCluster()]);
    serving = await startServing(toOptions(stage));
  }, 180_000);
  afterAll(async () => {
    await serving?.stop();
    await Promise.all([stage?.close(), other?.stop()]);
  });

  const key = () => stage.frozen.world.keys.wiki;
  const root = () => Object.assign(new URL(stage.addresses.admin), { pathname: "/postgres" }).href;
  const as = (url: string, username: string, password: string) =>
    Object.assign(new URL(url), { username, password }).href;

  /** Runs a block of the page line by line; `git` installs this program. */
  async function run(block: string, program: string): Promise<string[]> {
    const done: string[] = [];
    for (const line of block.split("\n")) {
      const [command = "", ...argv] = line.split(" ");
      if (command === "cd") replaceProgram(stage.program, program);
      else if (line === "systemctl reload rowhouse") await serving.reload();
      else if (line === "systemctl restart rowhouse") {
        await serving.stop();
        serving = await startServing(toOptions(stage));
      } else if (command === "rowhouse") {
        const { folder, program: installed } = stage;
        const env = toOperator(stage.addresses);
        const { code, out, err } = await runCommand(argv, { folder, program: installed, env });
        expect([line, code, code === 0 ? "" : out + err]).toEqual([line, 0, ""]);
        done.push(out);
      } else throw new Error(`The page has another command: ${line}`);
    }
    return done;
  }

  test("keep the service and its rows", async () => {
    shell(stage, LOGIN, { CLUSTER_URL: root(), BACKUP_PASSWORD });
    const BACKUP_URL = as(stage.addresses.admin, "rowhouse_backup", BACKUP_PASSWORD);
    saved = await withDatabase(stage.addresses.admin, (admin) => readContents(admin));
    shell(stage, SAVE, { CLUSTER_URL: root(), BACKUP_URL });
    const [planned, migrated, checked] = await run(UPGRADE, ROOT);
    expect([planned, migrated, checked].every((text) => text !== undefined)).toBe(true);
    created = (await call(serving, key(), PAGES, { title: "after" })) as { id: string };
  }, 120_000);

  test("lead back to the previous program, if the database allows it", async () => {
    const previous = await unpackProgram(PREVIOUS);
    try {
      await run(WAY_BACK, previous.folder);
    } finally {
      previous.remove();
    }
    expect(await call(serving, key(), `${PAGES}/${created.id}`)).toMatchObject({ title: "after" });
  }, 120_000);

  test("lead back to the backup", async () => {
    await serving.stop();
    const moved = Object.fromEntries(
      Object.entries(stage.addresses).map(([login, url]) => [
        login,
        typeof url === "string" && login !== "preview"
          ? Object.assign(new URL(url), { host: new URL(other.url).host }).href
          : url,
      ]),
    ) as Stage["addresses"];
    const SUPERUSER_URL = moved.admin;
    shell(stage, RESTORE, {
      ...toOperator(moved),
      ...{ CLUSTER_URL: other.url, SUPERUSER_URL, RESTORE_PASSWORD: "restore" },
      RESTORE_URL: as(SUPERUSER_URL, "rowhouse_restore", "restore"),
    });
    const restored = await withDatabase(moved.admin, (admin) => readContents(admin, saved));
    expect(Object.keys(onlyRows(saved)).length).toBeGreaterThan(5);
    expect(onlyRows(restored)).toEqual(onlyRows(saved));
    serving = await startServing({ ...toOptions(stage), addresses: moved });
    await expect(call(serving, key(), `${PAGES}/${created.id}`)).rejects.toThrow("not_found");
  }, 180_000);
});

function toOptions({ addresses, program }: Stage) {
  return { addresses, program, shape: "one", workers: 2 } as const;
}

/** Runs commands of the page with the installed program. @throws {Error} one failed, other than for the existing superuser */
function shell({ folder, program }: Stage, commands: string, env: Record<string, string>): void {
  const { PATH = "", HOME = "" } = process.env;
  const rowhouse = `rowhouse() { '${process.execPath}' '${program}/src/cli/rowhouse.ts' "$@"; }`;
  const done = Bun.spawnSync(["bash", "-e", "-o", "pipefail", "-c", `${rowhouse}\n${commands}`], {
    cwd: folder,
    env: { PATH: `${DEBIAN_BIN}:${PATH}`, HOME, ...env },
  });
  if (done.exitCode !== 0) throw new Error(`${done.stdout}${done.stderr}`);
}
