/** Sweeps: one run at a time, and none that a busy app keeps from the others. */
import { expect, test } from "bun:test";
import { makeIdempotencyCapacity } from "../../src/data/mod.ts";
import { call } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { listSweeps, startSweep } from "../../src/service/sweeps.ts";
import { CHANGE_LIFE_S } from "../../src/std/limits.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
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
  const { stop } = startSweep(() => undefined, { what: "nothing", intervalMs: 2, step });
  await eventually(() => steps >= 5);
  stop();
  expect(most).toBe(1);
});

test("changes are swept app by app: each call continues behind the last", async () => {
  // No service, which would sweep them too.
  await using database = await makeDatabase();
  await withDatabase(database.adminUrl, async (admin) => {
    const apps = [1, 2, 3].map(() => crypto.randomUUID());
    // As of very busy apps: more changes than calls delete.
    for (const id of apps)
      await admin.message(`set rowhouse.app_id = '${id}';
        insert into rowhouse.apps (id, slug, switches) values ('${id}', 'app-${id}', '{live}');
        insert into rowhouse.changes (app_id, table_name, row_id, xid)
        select '${id}', 'todos', gen_random_uuid(), '3' from generate_series(1, 100);
        reset rowhouse.app_id; select 1`);
    for (let index = 0; index < 6; index++) await call(admin, "sweep_changes", { max_rows: 10 });
    const left: (number | undefined)[] = [];
    for (const id of apps) {
      const [row] = await admin.message<{ count: number }>(`set rowhouse.app_id = '${id}';
          select count(*)::int as count from rowhouse.changes where app_id = '${id}' and xid = '3'`);
      left.push(row?.count);
    }
    expect(left).toEqual([80, 80, 80]);
  });
});

const WRITES_A_MINUTE = 3;
/** The floor moves once in a lifetime, to where it was meant to be a lifetime before. */
const MOST_CHANGES = (2 * (CHANGE_LIFE_S / 60) + 2) * WRITES_A_MINUTE;

test.each([[[]], [["live"]], [["history"]], [["live", "history"]]] as const)(
  "in an hour, two processes that serve %j keep the history, and only the latest changes",
  async (previews) => {
    await using service = await openTestService({ service: { previews } });
    const app = await service.makeApp(defineSchema({ notes: { title: t.string() } }));
    const { admin, db } = service.service;
    for (const name of ["live", "history"] as const)
      await setAppSwitch(service.service, app.slug, [name, true]);
    const sweeps = [1, 2].flatMap(() =>
      listSweeps(
        {
          ...{ options: { log: () => undefined }, db, identityDb: db },
          idempotencyCapacity: makeIdempotencyCapacity(0),
        },
        "data",
      ).filter(({ what }) => ["changes", "the history of rows"].includes(what)),
    );
    expect(sweeps).toHaveLength(4);
    const count = async (table: string) => {
      const [row] = await admin.message<{ count: number }>(`set rowhouse.app_id = '${app.id}';
        select count(*)::int as count from rowhouse.${table} where app_id = '${app.id}'`);
      return row?.count ?? 0;
    };
    const sent = { method: "POST", json: { title: "a" } };
    const counts: number[] = [];
    for (let minute = 0; minute < 60; minute++) {
      const { json } = await service.call(app, "/v1/data/db/notes", sent);
      const path = `/v1/data/db/notes/${(json as { id: string }).id}`;
      await service.call(app, path, { method: "PATCH", json: { title: "b" } });
      await service.call(app, path, { method: "DELETE" });
      await admin.message(`set rowhouse.app_id = '${app.id}';
        update rowhouse.change_feed set floor_at = floor_at - interval '1 minute';
        update rowhouse.row_changes set changed_at = changed_at - interval '1 minute' where app_id = '${app.id}'; select 1`);
      for (const { step } of sweeps) await step();
      counts.push(await count("changes"));
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_CHANGES);
    // Changes stay for their life.
    expect(Math.min(...counts.slice(CHANGE_LIFE_S / 60))).toBeGreaterThanOrEqual(
      (CHANGE_LIFE_S / 60 - 1) * WRITES_A_MINUTE,
    );
    // An update and a delete are stored, a create is not.
    expect(await count("row_changes")).toBe(60 * 2);
  },
);
