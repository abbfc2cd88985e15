/** A command that a signal stops leaves no temporary login, and says what it leaves. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { makeProject } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone, whileLocked } from "../support/held_lock.ts";
import { freshName } from "../support/push.ts";
import { share } from "../support/share.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const name = freshName();
const admin = await share(openAdmin());

function findLogins(): Promise<object[]> {
  return admin.service.query(
    "select rolname from pg_catalog.pg_roles where rolname ~ '^rowhouse_rows_[0-9a-f]{16}$'",
  );
}

async function makeApp(): Promise<string> {
  const app = await admin.service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  return app.slug;
}

describe.each(SIGNALS)("%s", (signal) => {
  test("drops the login of delete-app", async () => {
    const slug = await makeApp();
    await whileLocked(admin.service.database.adminUrl, name, async () => {
      const command = admin.start("delete-app", slug, "--yes");
      await eventually(async () => (await findLogins()).length > 0, { describe: command.output });
      expect(await command.kill(signal)).toBe(1);
      expect(command.output()).toContain("Stopped by a signal");
      expect(await findLogins()).toEqual([]);
    });
  });

  test("drops a login that is being created", async () => {
    const slug = await makeApp();
    // Other sessions can read roles, but not create one.
    const text = "lock table pg_catalog.pg_authid in share mode";
    const waits = () => countLockWaits(admin.service.service.admin);
    const command = await whileDone(admin.service.database.adminUrl, { text }, async () => {
      const started = admin.start("delete-app", slug, "--yes");
      await eventually(async () => (await waits()) > 0, { describe: started.output });
      process.kill(started.pid, signal);
      return started;
    });
    expect(await command.ended).toBe(1);
    expect(command.output()).toContain("Stopped by a signal");
    expect(await findLogins()).toEqual([]);
  });

  test("names the next step after an import", async () => {
    using project = makeProject();
    const app = await admin.service.makeApp();
    const table = freshName();
    await admin.service.pushSchema(app, defineSchema({ [table]: { title: t.string() } }));
    await admin.service.call(app, `/v1/data/db/${table}`, {
      ...{ method: "POST", json: { title: "Milk" } },
    });
    const file = join(project.folder, "app.rowhouse");
    expect(await admin.run("export-app", app.slug, file)).toMatchObject({ code: 0 });
    const text = `lock table data."${table}" in share mode`;
    const waits = () => countLockWaits(admin.service.service.admin);
    await whileDone(admin.service.database.adminUrl, { text }, async () => {
      const command = admin.start("import-app", file, "--as", `${app.slug}-2`);
      await eventually(async () => (await waits()) > 0, { describe: command.output });
      expect(await command.kill(signal)).toBe(1);
      expect(command.output()).toContain("Stopped by a signal");
      expect(command.output()).toContain(`App ${app.slug}-2 is incomplete and stays disabled`);
    });
  });
});
