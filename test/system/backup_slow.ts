/** docs/operating.md, done: saved from one cluster, restored into a fresh one, and asked the same questions. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import schema from "../../schema/mod.ts";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { push } from "../../src/push/mod.ts";
import { checkService } from "../../src/service/doctor.ts";
import { openService, type Service } from "../../src/service/open.ts";
import { readBlocks } from "../docs/blocks.ts";
import { PUSH_LOGIN } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import {
  DEBIAN_BIN,
  type DebianCluster,
  hasDebianPostgres,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { checkEndpoint, endpoints, makeWorld, type World } from "../support/isolation.ts";
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

let folder: string;
let first: DebianCluster;
let second: DebianCluster;
let original: TestService;
let copy: Service;
let pushing: Database;
/** Another database of the same cluster, for the matrix of isolation: its tables have names of the schema's too. */
let crowded: TestService;
let crowdedWorld: World;
let onFirst: TestServiceOptions;
let one: TestApp;
let other: TestApp;

const withPlace = (url: string, cluster: string): string => {
  const made = new URL(url);
  made.host = new URL(cluster).host;
  return made.href;
};

describe.skipIf(!hasDebianPostgres)("a saved and restored copy", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowhouse-backup-"));
    [first, second] = await Promise.all([startDebianCluster(), startDebianCluster()]);
    onFirst = { cluster: { admin: first.url, serving: first.url, prepare: true } };
    original = await openTestService(onFirst);
    one = await original.makeApp(schema);
    other = await original.makeApp(schema);
    for (const [app, title] of [
      [one, "one's"],
      [other, "other's"],
    ] as const)
      await original.call(app, LIST, { method: "POST", json: { title } });
    crowded = await openTestService(onFirst);
    crowdedWorld = await makeWorld(crowded, { crowded: true });
    run(LOGIN, { CLUSTER_URL: first.url, BACKUP_PASSWORD });
    const said = saveAndRestore(original);
    // The administrator is there already; every other statement must succeed.
    expect(said.match(/^psql:.*ERROR.*$/gm)).toEqual([
      expect.stringContaining('role "postgres" already exists'),
    ]);
    copy = openCopy(original);
    const url = withPlace(original.database.pushUrl, second.url);
    pushing = openDatabase({ url, connections: 1, prepare: true, name: "test" });
  }, 60_000);
  afterAll(async () => {
    await Promise.all([copy?.close(), pushing?.close()]);
    await Promise.all([original?.close(), crowded?.close()]);
    await Promise.all([first.stop(), second.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Commands of the page; what they said. @throws {Error} one failed */
  const run = (commands: string, env: Record<string, string>): string => {
    const { PATH = "", HOME = "" } = process.env;
    const rowhouse = `rowhouse() { '${process.execPath}' '${ROOT}/src/bin/rowhouse.ts' "$@"; }`;
    const script = `${rowhouse}\n${commands}`;
    const shell = Bun.spawnSync(["bash", "-e", "-o", "pipefail", "-c", script], {
      cwd: folder,
      env: { PATH: `${DEBIAN_BIN}:${PATH}`, HOME, ...env },
    });
    const said = `${shell.stdout}${shell.stderr}`;
    if (shell.exitCode !== 0) throw new Error(said);
    return said;
  };

  const BACKUP_PASSWORD = "backup";
  const asLogin = (url: string, username: string, password: string) => {
    const made = new URL(url);
    return Object.assign(made, { username, password }).href;
  };

  /** The page's commands, from the first cluster to the second. */
  const saveAndRestore = ({ database }: TestService): string => {
    const { adminUrl, servingUrl } = database;
    const BACKUP_URL = asLogin(adminUrl, "rowhouse_backup", BACKUP_PASSWORD);
    run(SAVE, { CLUSTER_URL: first.url, BACKUP_URL });
    const SUPERUSER_URL = withPlace(adminUrl, second.url);
    return run(RESTORE, {
      CLUSTER_URL: second.url,
      SUPERUSER_URL,
      RESTORE_PASSWORD: "restore",
      RESTORE_URL: asLogin(SUPERUSER_URL, "rowhouse_restore", "restore"),
      ADMIN_DATABASE_URL: SUPERUSER_URL,
      DATABASE_URL: withPlace(servingUrl, second.url),
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    });
  };

  /** Saves a service's database, restores it into the second cluster, and opens a service over that. */
  const copyOf = (service: TestService): Service => {
    const { name, adminUrl } = service.database;
    const dump = join(folder, `${name}.dump`);
    runTool("pg_dump", ["--create", "--format=custom", `--file=${dump}`, adminUrl]);
    runTool("pg_restore", ["--create", "--exit-on-error", `--dbname=${second.url}`, dump]);
    return openCopy(service);
  };

  const openCopy = ({ database }: TestService): Service => {
    return openService({
      databaseUrl: withPlace(database.servingUrl, second.url),
      adminDatabaseUrl: withPlace(database.adminUrl, second.url),
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
    const planted = await openTestService({ ...onFirst, service: UNGUARDED });
    try {
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
      const [login] = await pushing.query<{ rolsuper: boolean }>(
        "select rolsuper from pg_catalog.pg_roles where rolname = $1",
        [PUSH_LOGIN],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
      expect(login?.rolsuper).toBe(false);
    } finally {
      await planted.close();
    }
  });

  test("can serve, because its isolation is intact", async () => {
    await copy.warm();
  });

  test("accepts the same keys and returns the same rows", async () => {
    for (const app of [one, other]) {
      const [before, after] = await Promise.all([original.call(app, LIST), ask(app, LIST)]);
      expect(after).toEqual({ status: 200, text: before.text });
      expect(before.text).toContain(app === one ? "one's" : "other's");
    }
  });

  test("never returns another app's row", async () => {
    const mine = await ask(one, LIST);
    const { rows } = JSON.parse((await ask(other, LIST)).text) as { rows: { id: string }[] };
    const foreign = await ask(one, `${LIST}/${rows[0]?.id}`);
    expect(mine.text).not.toContain("other's");
    expect(foreign.status).toBe(404);
  });

  describe("isolates apps as before the backup:", () => {
    let alone: TestService;
    let aloneWorld: World;
    let served: Opened;
    beforeAll(async () => {
      alone = await openTestService(onFirst);
      aloneWorld = await makeWorld(alone, { crowded: false });
      served = await serve(copyOf(crowded));
    }, 60_000);
    afterAll(async () => void (await Promise.all([alone?.close(), served?.close()])));

    test.each([...endpoints])("%s gives the same response as without other apps", (endpoint) => {
      const { service, url } = served;
      const call: TestService["call"] = (app, path, options) =>
        callService({ url }, app, path, options);
      const restored = { ...crowdedWorld, service: { url, admin: service.admin, call } };
      return checkEndpoint({ single: aloneWorld, crowded: restored }, endpoint);
    });
  });

  test("has the journal and the catalog, so a push of the same schema changes nothing", async () => {
    const same = await push(
      { admin: pushing, log: () => undefined },
      { app: one, definition: definitionOf(schema), options: { dryRun: true } },
    );
    expect(same.status).toBe("unchanged");
  });

  test("passes the doctor", async () => {
    const { servingUrl } = original.database;
    const findings = await checkService({
      db: copy.db,
      admin: pushing,
      adminVariable: "ADMIN_DATABASE_URL",
      adminUrl: withPlace(original.database.pushUrl, second.url),
      databaseUrl: withPlace(servingUrl, second.url),
      prepare: true,
      pushes: true,
      now: Date.now,
    });
    expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
  });

  test("is reported by the doctor if it was restored without --create", async () => {
    const dump = join(folder, "plain.dump");
    runTool("pg_dump", ["--format=custom", `--file=${dump}`, original.database.adminUrl]);
    runTool("psql", ["-q", "-c", "create database plain_copy", second.url]);
    const url = second.url.replace(/\/postgres$/, "/plain_copy");
    runTool("pg_restore", ["--exit-on-error", `--dbname=${url}`, dump]);
    const serving = withPlace(original.database.servingUrl, second.url).replace(
      /[^/]+$/,
      "plain_copy",
    );
    const db = openDatabase({ url: serving, connections: 2, prepare: true, name: "test" });
    const admin = openDatabase({ url, connections: 2, prepare: true, name: "test" });
    const findings = await checkService({
      db,
      admin,
      adminVariable: "ADMIN_DATABASE_URL",
      adminUrl: url,
      databaseUrl: serving,
      prepare: true,
      pushes: false,
      now: Date.now,
    });
    await Promise.all([db.close(), admin.close()]);
    const wanting = findings.filter(({ level }) => level !== "ok").map(({ about }) => about);
    expect(wanting).toEqual(["time limit", "temporary files", "temporary tables", "failures"]);
  });
});
