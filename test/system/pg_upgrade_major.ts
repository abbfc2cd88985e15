/**
 * Runs the commands of docs/operating.md for `pg_upgrade`, from the oldest version to the one that `POSTGRES_BIN` names, and
 * compares the upgraded service with the original. Not a slow test: those use one version.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import schema from "../../schema/mod.ts";
import { openService, type Service } from "../../src/service/open.ts";
import { readBlocks } from "../docs/blocks.ts";
import { findAccount } from "../support/account.ts";
import { ROOT } from "../support/command.ts";
import {
  DEBIAN_BIN,
  type DebianCluster,
  OLDEST_BIN,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService, type TestApp } from "../support/service.ts";

const LIST = "/v1/data/db/todos";
const ALLOW_CONNECTIONS = "update pg_database set datallowconn = true where datname <> 'template0'";
const SECTION = "### A new major version of PostgreSQL\n";

const page = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
const [UPGRADE = "", AFTER = ""] = readBlocks(page.split(SECTION)[1] ?? "").map(({ code }) => code);

type Answer = { status: number; text: string };

describe("after pg_upgrade, the service", () => {
  let old: DebianCluster;
  let upgraded: DebianCluster;
  let copy: Service;
  let output: string;
  let mine: TestApp;
  let other: TestApp;
  const before = new Map<TestApp, Answer>();

  beforeAll(async () => {
    old = await startDebianCluster({ bin: OLDEST_BIN });
    const next = await startDebianCluster();
    await next.end();
    const original = await openTestService({
      cluster: { admin: old.url, serving: old.url, prepare: true },
    });
    mine = await original.makeApp(schema);
    other = await original.makeApp(schema);
    for (const [app, title] of [
      [mine, "mine's"],
      [other, "other's"],
    ] as const) {
      await original.call(app, LIST, { method: "POST", json: { title } });
      before.set(app, await original.call(app, LIST));
    }
    await original.end();
    // The template of the tests accepts no sessions.
    runTool("psql", ["-qc", ALLOW_CONNECTIONS, old.url]);
    await old.end();
    run(UPGRADE, {
      OLD_BIN: OLDEST_BIN,
      NEW_BIN: DEBIAN_BIN,
      OLD_DATA: old.data,
      NEW_DATA: next.data,
    });
    upgraded = await startDebianCluster({ data: next.data });
    const { adminUrl, servingUrl } = original.database;
    output = runAsSelf(AFTER, {
      CLUSTER_URL: upgraded.url,
      ADMIN_DATABASE_URL: onUpgraded(adminUrl),
      DATABASE_URL: onUpgraded(servingUrl),
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    });
    copy = openService({
      databaseUrl: onUpgraded(servingUrl),
      adminDatabaseUrl: onUpgraded(adminUrl),
      connections: 3,
      prepare: true,
      keyPrefix: "rh",
      identitySecrets: [TEST_IDENTITY_SECRET],
      log: () => undefined,
    });
  }, 120_000);
  afterAll(async () => {
    await copy?.close();
    await Promise.all([upgraded?.stop(), old?.stop()]);
  });

  const onUpgraded = (url: string): string =>
    Object.assign(new URL(url), { host: new URL(upgraded.url).host }).href;

  /** As the account of the servers, which owns their data. */
  const run = (commands: string, env: Record<string, string>): void => {
    const folder = dirname(old.data);
    const { PATH = "" } = process.env;
    execFileSync("bash", ["-ec", commands], {
      ...{
        ...findAccount(),
        cwd: folder,
        env: { PATH: `${DEBIAN_BIN}:${PATH}`, HOME: folder, ...env },
      },
      stdio: "pipe",
    });
  };

  const runAsSelf = (commands: string, env: Record<string, string>): string => {
    const { PATH = "", HOME = "" } = process.env;
    const rowhouse = `rowhouse() { '${process.execPath}' '${ROOT}/src/cli/rowhouse.ts' "$@"; }`;
    return execFileSync("bash", ["-ec", `${rowhouse}\n${commands}`], {
      ...{ cwd: dirname(old.data), env: { PATH: `${DEBIAN_BIN}:${PATH}`, HOME, ...env } },
      encoding: "utf8",
    });
  };

  const ask = async (app: TestApp, path: string): Promise<Answer> => {
    const headers = { authorization: `Bearer ${app.key}` };
    const response = await copy.fetch(new Request(`http://localhost${path}`, { headers }), {
      requestIP: () => null,
    });
    return { status: response.status, text: await response.text() };
  };

  test("runs on the new version, and passes the doctor", async () => {
    expect(output).toMatch(/^ok {3}isolation: holds/m);
    expect(output).not.toMatch(/^(FAIL|error)/m);
    await copy.warm();
  });

  test("accepts the same keys and returns the same rows, and no foreign row", async () => {
    for (const app of [mine, other]) {
      const { status, text = "" } = before.get(app) ?? {};
      expect(status).toBe(200);
      expect(text).toContain(app === mine ? "mine's" : "other's");
      expect(await ask(app, LIST)).toEqual({ status: 200, text });
    }
    const { rows } = JSON.parse((await ask(other, LIST)).text) as { rows: { id: string }[] };
    expect((await ask(mine, `${LIST}/${rows[0]?.id}`)).status).toBe(404);
  });
});
