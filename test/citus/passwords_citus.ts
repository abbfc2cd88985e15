/** Nodes that require passwords: `migrate` gives passwords to the service's roles, and reports logins that nodes reject. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { LOGIN, withDatabase } from "../support/cluster.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { findWorkers } from "./node_control.ts";

const ROLES = ["rowhouse_owner", "rowhouse_rows", "rowhouse_tables"];

const found = await withDatabase(citusUrl() ?? "", findWorkers);
const workers = "nodes" in found ? found.nodes : [];
const reason = "rejection" in found ? ` (not run: ${found.rejection})` : "";

let service: TestService;
let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  service = await openTestService();
  project = makeProject();
});
afterAll(async () => {
  project.remove();
  await service.close();
});

const rules = new Map(workers.map(({ folder }) => [folder, readFileSync(toFile(folder), "utf8")]));
afterEach(async () => {
  for (const [folder, text] of rules) writeFileSync(toFile(folder), text);
  await onAllNodes("select pg_reload_conf()");
  for (const role of ROLES) await onAllNodes(`alter role ${role} password null`);
});

function toFile(folder: string): string {
  return join(folder, "pg_hba.conf");
}

/** Makes the workers require passwords from these roles in the test's database. */
async function requirePasswords(roles: readonly string[]): Promise<void> {
  const rule = `host ${service.database.name} ${roles.join(",")} all scram-sha-256\n`;
  for (const [folder, text] of rules) writeFileSync(toFile(folder), rule + text);
  await onAllNodes("select pg_reload_conf()");
}

async function onAllNodes(statement: string): Promise<void> {
  await ask("select run_command_on_all_nodes($1)", [
    `do $do$ begin perform set_config('citus.enable_ddl_propagation', 'off', true);
      ${statement.replace(/^select/, "perform")}; end $do$`,
  ]);
}

async function ask<Row>(text: string, values: string[] = []): Promise<Row[]> {
  const options = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
  return await service.service.admin.query<Row>(text, values, options);
}

const migrate = () =>
  runCommand(["migrate"], { ...project, env: { ADMIN_DATABASE_URL: service.database.adminUrl } });

test.skipIf(reason !== "")(`migrate gives the service's roles passwords${reason}`, async () => {
  await requirePasswords(ROLES);

  expect(await migrate()).toMatchObject({ code: 0 });

  const stored = await ask<{ rolename: string; authinfo: string }>(
    "select rolename, authinfo from pg_dist_authinfo order by rolename",
  );
  expect(stored.map(({ rolename }) => rolename)).toEqual(ROLES);
  for (const { authinfo } of stored) expect(authinfo).toMatch(/^password=[0-9a-f]{64}$/);
  const read = service.service.db.query("select authinfo from pg_dist_authinfo", [], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
  await expect(read).rejects.toMatchObject({ code: "42501" });
  const app = await service.makeApp(defineSchema({ guarded: { title: t.string() } }));
  const created = await service.call(app, "/v1/data/db/guarded", { method: "POST", json: {} });
  expect(created.status).toBe(201);
  expect(await migrate()).toMatchObject({ code: 0 });
  expect(await ask("select from pg_dist_authinfo")).toHaveLength(ROLES.length);
});

test.skipIf(reason !== "")(`migrate names a login that nodes reject${reason}`, async () => {
  await requirePasswords([LOGIN]);

  const { code, err } = await migrate();

  expect(code).toBe(1);
  for (const { name } of workers)
    expect(err).toContain(`Node ${name} cannot be reached from the coordinator as ${LOGIN}: `);
});
