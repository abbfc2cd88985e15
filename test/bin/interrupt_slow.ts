/** A command that a signal stops leaves no temporary login. */
import { expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { freshName } from "../support/push.ts";

test.each(["SIGINT", "SIGTERM"] as const)("%s drops the login of delete-app", async (signal) => {
  const admin = await openAdmin();
  const name = freshName();
  const app = await admin.service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const findLogins = () =>
    admin.service.service.admin.query(
      "select rolname from pg_catalog.pg_roles where rolname ~ '^rowhouse_rows_[0-9a-f]{16}$'",
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
  try {
    await whileLocked(admin.service.database.adminUrl, name, async () => {
      const command = admin.start("delete-app", app.slug, "--yes");
      await eventually(async () => (await findLogins()).length > 0, { describe: command.output });
      expect(await command.kill(signal)).toBe(1);
      expect(command.output()).toContain("Stopped by a signal");
      expect(await findLogins()).toEqual([]);
    });
  } finally {
    await admin.close();
  }
});
