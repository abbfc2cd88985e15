/** A command that a signal stops leaves no temporary login. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone, whileLocked } from "../support/held_lock.ts";
import { freshName } from "../support/push.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const name = freshName();
let admin: Admin;
beforeAll(async () => {
  admin = await openAdmin();
});
afterAll(() => admin.close());

function findLogins(): Promise<object[]> {
  return admin.service.service.admin.query(
    "select rolname from pg_catalog.pg_roles where rolname ~ '^rowhouse_rows_[0-9a-f]{16}$'",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
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
});
