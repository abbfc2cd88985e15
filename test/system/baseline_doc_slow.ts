/** Follows the steps of docs/operating.md, "A database of another baseline". */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import schema from "../../schema/mod.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { PUSH_LOGIN, withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import {
  DEBIAN_BIN,
  type DebianCluster,
  hasDebianPostgres,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService, type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const LIST = "/v1/data/db/todos";

/** Grants the rights that a creator of the other roles has from PostgreSQL 16 on. */
const CREATE_ADMINISTRATOR = `create role rowhouse_admin login createrole;
do $do$
declare
  other name;
begin
  for other in select rolname from pg_roles where rolname ~ '^rowhouse_(?!admin)'
    and current_setting('server_version_num')::integer >= 160000
  loop
    execute format('grant %I to rowhouse_admin with admin true, inherit false, set false', other);
  end loop;
end $do$; select 1`;

const page = await Bun.file(join(ROOT, "docs/operating.md")).text();
const [, section = ""] = page.split("## A database of another baseline\n");
const [, steps = ""] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];

describe.skipIf(!hasDebianPostgres)("the rows of a database of another baseline", () => {
  let folder: string;
  let cluster: DebianCluster;
  let old: TestService;
  let app: TestApp;
  let env: Record<string, string>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowhouse-baseline-"));
    cluster = await startDebianCluster();
    old = await openTestService(onCluster());
    app = await old.makeApp(schema);
    await old.call(app, LIST, { method: "POST", json: { title: "Milk" } });
    await withDatabase(cluster.url, (superuser) => superuser.message(CREATE_ADMINISTRATOR));
    env = {
      CLUSTER_URL: cluster.url,
      SUPERUSER_URL: old.database.adminUrl,
      NEXT_SUPERUSER_URL: inNext(cluster.url),
      NEXT_RESTORE_URL: asRestore(inNext(cluster.url)),
      RESTORE_PASSWORD: "restore",
      ADMIN_DATABASE_URL: asAdministrator(inNext(cluster.url)),
      DATABASE_URL: inNext(old.database.servingUrl),
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    };
    await withDatabase(old.database.adminUrl, (admin) =>
      admin.message("update rowhouse.service_migrations set checksum = 'sha256:0'; select 1"),
    );
  }, 60_000);
  afterAll(async () => {
    await old.close();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const onCluster = () => ({
    cluster: { admin: cluster.url, serving: cluster.url, prepare: true },
  });
  const inNext = (url: string) => {
    const result = new URL(url);
    result.pathname = "/rowhouse_next";
    return result.href;
  };
  const asAdministrator = (url: string) => {
    const result = new URL(url);
    result.username = "rowhouse_admin";
    return result.href;
  };
  const asRestore = (url: string) =>
    Object.assign(new URL(url), { username: "rowhouse_restore", password: "restore" }).href;
  const run = (text: string, env: Record<string, string>) => {
    const { PATH = "", HOME = "" } = process.env;
    const rowhouse = `rowhouse() { '${process.execPath}' '${ROOT}/src/cli/rowhouse.ts' "$@"; }`;
    const shell = Bun.spawnSync(["bash", "-e", "-o", "pipefail", "-c", `${rowhouse}\n${text}`], {
      cwd: folder,
      env: { PATH: `${DEBIAN_BIN}:${PATH}`, HOME, ...env },
    });
    return { code: shell.exitCode, output: `${shell.stdout}${shell.stderr}` };
  };

  test("are served by this release after the documented steps", async () => {
    const rejected = await runCommand(["migrate"], {
      folder,
      env: { ...env, ADMIN_DATABASE_URL: old.database.adminUrl },
    });
    expect(rejected.err).toContain("another release");
    const { code, output } = run(steps, env);
    expect(output).toContain("Renewed the functions of table todos");
    expect(code).toBe(0);

    const moved = await openTestService({
      ...onCluster(),
      toServingUrl: inNext,
      toAdminUrl: inNext,
    });
    const response = await moved.call(app, LIST);
    expect(response.json).toMatchObject({ rows: [{ title: "Milk" }] });
    expect(await moved.pushSchema(app, schema)).toMatchObject({ steps: [], migration: null });
    // A push that changes a table must record a version that no push before it recorded.
    const [catalog] = await moved.service.db.query<{ isAhead: boolean }>(
      `select version > (select max(version) from rowhouse.registrations) as "isAhead"
        from rowhouse.versions where name = 'catalog'`,
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
    expect(catalog).toEqual({ isAhead: true });
    await moved.close();
  }, 60_000);

  test.each([
    { owner: "the pushing login", setRole: "" },
    { owner: "the role that owns apps' tables", setRole: "set local role rowhouse_tables;" },
  ])(
    "never run code of $owner as a superuser",
    async ({ setRole }) => {
      const planted = await openTestService({ ...onCluster(), service: UNGUARDED });
      try {
        const theirs = await planted.makeApp(schema);
        await planted.call(theirs, LIST, { method: "POST", json: { title: "x" } });
        await planted.pushing.message(`${setRole}
        create function data.evil(value text) returns boolean language plpgsql as $evil$ begin
          begin execute 'create table data.ran()'; exception when others then null; end;
          begin execute format('alter role %I superuser', '${PUSH_LOGIN}'); exception when others then null; end;
          begin execute format('alter role %I createrole', '${PUSH_LOGIN}'); exception when others then null; end;
          return true;
        end $evil$;
        alter table data.todos add constraint planted check (data.evil(title));
        select 1`);
        await withDatabase(planted.database.adminUrl, (admin) =>
          admin.message("update rowhouse.service_migrations set checksum = 'sha256:0'; select 1"),
        );
        const removal = [
          "drop database if exists rowhouse_next",
          "drop role if exists rowhouse_restore",
        ];
        runTool("psql", ["-q", ...removal.flatMap((text) => ["-c", text]), cluster.url]);
        const { code, output } = run(steps, {
          ...env,
          SUPERUSER_URL: planted.database.adminUrl,
          DATABASE_URL: inNext(planted.database.servingUrl),
        });
        expect(code).not.toBe(0);
        expect(output).toContain("evil");
        const logins = await withDatabase(cluster.url, (superuser) =>
          superuser.message<{ name: string; isStrong: boolean }>(
            `select rolname as name, rolsuper or rolcreaterole as "isStrong" from pg_catalog.pg_roles
            where rolname = '${PUSH_LOGIN}'`,
          ),
        );
        expect(logins).toEqual([{ name: PUSH_LOGIN, isStrong: false }]);
      } finally {
        await planted.close();
      }
    },
    60_000,
  );
});
