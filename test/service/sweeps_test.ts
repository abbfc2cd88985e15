/** Sweeps: one run at a time, and none that a busy app keeps from the others. */
import { expect, test } from "bun:test";
import { call } from "../../src/db/mod.ts";
import { startSweep } from "../../src/service/open.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService } from "../support/service.ts";

test("a sweep does not start while its last run continues", async () => {
  let [running, most, steps] = [0, 0, 0];
  const step = async () => {
    running++;
    most = Math.max(most, running);
    await Bun.sleep(20);
    running--;
    steps++;
    return false;
  };
  const stop = startSweep(() => undefined, { what: "nothing", intervalMs: 2, step });
  await eventually(() => steps >= 5);
  stop();
  expect(most).toBe(1);
});

test("changes are swept app by app: each call continues behind the last", async () => {
  // Without the preview, the service does not sweep changes while the test counts them.
  await using service = await openTestService();
  const apps = [await service.makeApp(), await service.makeApp(), await service.makeApp()];
  const { admin, db } = service.service;
  for (const { id } of apps) {
    // As a very busy app: more changes than calls delete.
    await admin.message(`set rowhouse.app_id = '${id}';
        update rowhouse.apps set switches = '{live}' where id = '${id}';
        insert into rowhouse.changes (app_id, table_name, row_id, xid)
        select '${id}', 'todos', gen_random_uuid(), '3' from generate_series(1, 100);
        reset rowhouse.app_id; select 1`);
  }
  for (let index = 0; index < 6; index++) await call(db, "sweep_changes", { max_rows: 10 });
  const left = await Promise.all(
    apps.map(async ({ id }) => {
      const [row] = await admin.message<{ count: number }>(`set rowhouse.app_id = '${id}';
          select count(*)::int as count from rowhouse.changes where app_id = '${id}' and xid = '3'`);
      return row?.count;
    }),
  );
  expect(left).toEqual([80, 80, 80]);
});
