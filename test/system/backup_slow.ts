/**
 * Runs the backup commands of docs/operating.md, and compares a restored service with the original. The saved cluster has the
 * oldest version, so with the programs of a newer one the restore is an upgrade of PostgreSQL.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import schema from "../../schema/mod.ts";
import { type Database, openDatabase, readRows } from "../../src/db/mod.ts";
import { runChecks } from "../../src/service/doctor/doctor.ts";
import { openService, type Service } from "../../src/service/open.ts";
import { readBlocks } from "../docs/blocks.ts";
import { PUSH_LOGIN } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import {
  DEBIAN_BIN,
  type DebianCluster,
  hasDebianPostgres,
  OLDEST_BIN,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { checkEndpoint, endpointsWith, makeWorld, type World } from "../support/isolation.ts";
import { pushDefinition } from "../support/push_steps.ts";
import {
  callService,
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
  type TestServiceOptions,
  UNGUARDED,
} from "../support/service.ts";
import { type Opened, serve } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";

const page = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
const blocks = readBlocks(page.split("## Backup\n")[1] ?? "");
const [LOGIN = "", SAVE = "", RESTORE = ""] = blocks.map(({ code }) => code);

const SETTINGS = {
  ...{ settingIssues: [], trustedProxies: [], providers: [] },
  ...{ prepare: true, isWhole: false, isOperator: false, now: Date.now },
};

let folder: string;
let first: DebianCluster;
let second: DebianCluster;
let original: TestService;
let copy: Service;
let pushing: Database;
/**
 * A second service in the same cluster for the isolation test. Some of its tables have the same names as those of the
 * schema.
 */
let crowded: TestService;
let crowdedWorld: World;
let onFirst: TestServiceOptions;
let mine: TestApp;
let other: TestApp;

const withCluster = (url: string, cluster: string): string => {
  const result = new URL(url);
  result.host = new URL(cluster).host;
  return result.href;
};

describe.skipIf(!hasDebianPostgres)("a saved and restored copy", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowhouse-backup-"));
    [first, second] = await Promise.all([
      startDebianCluster({ bin: OLDEST_BIN }),
      startDebianCluster(),
    ]);
    onFirst = { cluster: { admin: first.url, serving: first.url, prepare: true } };
    original = await openTestService(onFirst);
    mine = await original.makeApp(schema);
    other = await original.makeApp(schema);
    for (const [app, title] of [
      [mine, "mine's"],
      [other, "other's"],
    ] as const)
      await original.call(app, LIST, { method: "POST", json: { title } });
    crowded = await openTestService(onFirst);
    crowdedWorld = await makeWorld(crowded, { crowded: true });
    run(LOGIN, { CLUSTER_URL: first.url, BACKUP_PASSWORD });
    const output = saveAndRestore(original);
    // The administrator already exists. Every other statement must succeed.
    expect(output.match(/^psql:.*ERROR.*$/gm)).toEqual([
      expect.stringContaining('role "postgres" already exists'),
    ]);
    copy = openCopy(original);
    const url = withCluster(original.database.pushUrl, second.url);
    pushing = openDatabase({ url, connections: 1, prepare: true, name: "test" });
  }, 180_000);
  afterAll(async () => {
    await Promise.all([copy?.close(), pushing?.close()]);
    await Promise.all([original?.close(), crowded?.close()]);
    await Promise.all([first.stop(), second.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs commands of the page and returns their output. @throws {Error} if a command fails */
  const run = (commands: string, env: Record<string, string>, bin = DEBIAN_BIN): string => {
    const { PATH = "", HOME = "" } = process.env;
    const rowhouse = `rowhouse() { '${process.execPath}' '${ROOT}/src/cli/rowhouse.ts' "$@"; }`;
    const script = `${rowhouse}\n${commands}`;
    const shell = Bun.spawnSync(["bash", "-e", "-o", "pipefail", "-c", script], {
      cwd: folder,
      env: { PATH: `${bin}:${PATH}`, HOME, ...env },
    });
    const output = `${shell.stdout}${shell.stderr}`;
    if (shell.exitCode !== 0) throw new Error(output);
    return output;
  };

  const BACKUP_PASSWORD = "backup";
  const asLogin = (url: string, username: string, password: string) => {
    const result = new URL(url);
    return Object.assign(result, { username, password }).href;
  };

  /** Runs the page's commands to save the first cluster and restore it into the second. */
  const saveAndRestore = ({ database }: TestService): string => {
    const { adminUrl, servingUrl } = database;
    const BACKUP_URL = asLogin(adminUrl, "rowhouse_backup", BACKUP_PASSWORD);
    // PostgreSQL 15.20 stores versions of columns, which the programs of an earlier minor release cannot dump.
    run(SAVE, { CLUSTER_URL: first.url, BACKUP_URL }, OLDEST_BIN);
    const SUPERUSER_URL = withCluster(adminUrl, second.url);
    return run(RESTORE, {
      CLUSTER_URL: second.url,
      SUPERUSER_URL,
      RESTORE_PASSWORD: "restore",
      RESTORE_URL: asLogin(SUPERUSER_URL, "rowhouse_restore", "restore"),
      ADMIN_DATABASE_URL: SUPERUSER_URL,
      DATABASE_URL: withCluster(servingUrl, second.url),
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    });
  };

  const dumpTo = (file: string, flags: readonly string[], url: string) =>
    execFileSync(join(OLDEST_BIN, "pg_dump"), [...flags, "--format=custom", `--file=${file}`, url]);

  /** Saves a service's database, restores it into the second cluster, and opens a service on the copy. */
  const copyOf = (service: TestService): Service => {
    const { name, adminUrl } = service.database;
    const dump = join(folder, `${name}.dump`);
    dumpTo(dump, ["--create"], adminUrl);
    runTool("pg_restore", ["--create", "--exit-on-error", `--dbname=${second.url}`, dump]);
    return openCopy(service);
  };

  const openCopy = ({ database }: TestService): Service => {
    return openService({
      databaseUrl: withCluster(database.servingUrl, second.url),
      adminDatabaseUrl: withCluster(database.adminUrl, second.url),
      connections: 3,
      prepare: true,
      keyPrefix: "rh",
      identitySecrets: [TEST_IDENTITY_SECRET],
      log: () => undefined,
    });
  };

  const ask = async (app: TestApp, path: string) => {
    const headers = { authorization: `Bearer ${app.key}` };
    const response = await copy.fetch(new Request(`http://localhost${path}`, { headers }), {
      requestIP: () => null,
    });
    return { status: response.status, text: await response.text() };
  };

  test("is restored only up to the schema if it contains planted code, which never runs", async () => {
    await using planted = await openTestService({ ...onFirst, service: UNGUARDED });
    const app = await planted.makeApp(schema);
    await planted.call(app, LIST, { method: "POST", json: { title: "x" } });
    await planted.pushing.message(`
        create function data.evil(value text) returns boolean language plpgsql as
          'begin alter role ${PUSH_LOGIN} superuser; return true; exception when others then return true; end';
        alter table data.todos add constraint planted check (data.evil(title));
        select 1`);
    expect(() => saveAndRestore(planted)).toThrow(
      "FAIL isolation: function data.evil(text) must not be in the schemas of apps' tables",
    );
    const [login] = await readRows<{ rolsuper: boolean }>(
      pushing,
      "select rolsuper from pg_catalog.pg_roles where rolname = $1",
      [PUSH_LOGIN],
    );
    expect(login?.rolsuper).toBe(false);
  });

  test("can serve, because its isolation is intact", async () => {
    await copy.warm();
  });

  test("accepts the same keys and returns the same rows", async () => {
    for (const app of [mine, other]) {
      const [before, after] = await Promise.all([original.call(app, LIST), ask(app, LIST)]);
      expect(after).toEqual({ status: 200, text: before.text });
      expect(before.text).toContain(app === mine ? "mine's" : "other's");
    }
  });

  test("never returns another app's row", async () => {
    const ownRows = await ask(mine, LIST);
    const { rows } = JSON.parse((await ask(other, LIST)).text) as { rows: { id: string }[] };
    const foreign = await ask(mine, `${LIST}/${rows[0]?.id}`);
    expect(ownRows.text).not.toContain("other's");
    expect(foreign.status).toBe(404);
  });

  describe("isolates apps as before the backup:", () => {
    let single: TestService;
    let singleWorld: World;
    let served: Opened;
    beforeAll(async () => {
      single = await openTestService(onFirst);
      singleWorld = await makeWorld(single, { crowded: false });
      served = await serve(copyOf(crowded));
    }, 180_000);
    afterAll(async () => void (await Promise.all([single?.close(), served?.close()])));

    test.each([...endpointsWith([])])(
      "%s gives the same response as without other apps",
      (endpoint) => {
        const { service, url } = served;
        const call: TestService["call"] = (app, path, options) =>
          callService({ url }, app, path, options);
        const restored = { ...crowdedWorld, service: { url, admin: service.admin, call } };
        return checkEndpoint({ single: singleWorld, crowded: restored }, endpoint);
      },
    );
  });

  test("has the journal and the catalog, so a push of the same schema changes nothing", async () => {
    const same = await pushDefinition(
      { admin: pushing, log: () => undefined },
      { app: mine, definition: definitionOf(schema), options: { dryRun: true } },
    );
    expect(same.status).toBe("unchanged");
  });

  test("passes the doctor", async () => {
    const { servingUrl } = original.database;
    const findings = await runChecks({
      ...SETTINGS,
      db: copy.db,
      admin: pushing,
      adminVariable: "ADMIN_DATABASE_URL",
      adminUrl: withCluster(original.database.pushUrl, second.url),
      databaseUrl: withCluster(servingUrl, second.url),
      pushes: true,
    });
    expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
  });

  test("is reported by the doctor if it was restored without --create", async () => {
    const dump = join(folder, "plain.dump");
    dumpTo(dump, [], original.database.adminUrl);
    runTool("psql", ["-q", "-c", "create database plain_copy", second.url]);
    const url = second.url.replace(/\/postgres$/, "/plain_copy");
    runTool("pg_restore", ["--exit-on-error", `--dbname=${url}`, dump]);
    const serving = withCluster(original.database.servingUrl, second.url).replace(
      /[^/]+$/,
      "plain_copy",
    );
    const db = openDatabase({ url: serving, connections: 2, prepare: true, name: "test" });
    const admin = openDatabase({ url, connections: 2, prepare: true, name: "test" });
    const findings = await runChecks({
      ...SETTINGS,
      db,
      admin,
      adminVariable: "ADMIN_DATABASE_URL",
      adminUrl: url,
      databaseUrl: serving,
      pushes: false,
    });
    await Promise.all([db.close(), admin.close()]);
    const wanting = findings.filter(({ level }) => level !== "ok").map(({ about }) => about);
    expect(wanting).toEqual(["time limit", "temporary files", "temporary tables", "failures"]);
  });
});
