/**
 * A build of an index and a conversion of a column that a process of the previous version began, when it was killed: after the upgrade
 * the build is finished, and the conversion when it is pushed again, once the killed process no longer counts as running.
 */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { LARGE_TABLE_PAGES } from "../../src/tables/state.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { definitionOf } from "../support/service.ts";
import { migrateAll } from "./database.ts";
import { send } from "./load.ts";
import { PREVIOUS } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage } from "./stage.ts";

/** Each row fills more than half of a page. */
const ROWS = LARGE_TABLE_PAGES + 100;
/** A conversion of all rows, or a build of an index, on a busy machine. */
const PATIENCE = { patienceMs: 120_000 };

test("are finished after the upgrade", async () => {
  const stage = await openStage(PREVIOUS, "18");
  const { addresses, frozen } = stage;
  const open: Serving[] = [];
  const start = async (program: string) => {
    const serving = await startServing({ addresses, program, shape: "one", workers: 1 });
    open.push(serving);
    return serving;
  };
  const push = (serving: Serving, step: object) =>
    send(
      { url: serving.url, key: frozen.world.keys.diverged },
      "/v1/data/schema",
      { method: "POST", json: { steps: [step] } },
      () => undefined,
    );
  const define = (title: unknown) => ({
    kind: "define",
    definition: definitionOf(
      defineSchema({ deep: { title, pad: t.string() }, wide: { count: t.string() } } as never),
    ),
  });
  const retype = {
    kind: "change",
    change: { kind: "retype_column", table: "wide", column: "count", type: { kind: "integer" } },
  };
  try {
    await withDatabase(addresses.admin, async (admin) => {
      const read = async <Value>(sql: string) => {
        const [row] = await readRows<{ value: Value }>(admin, `select (${sql}) as value`);
        return row?.value;
      };
      const readState = () =>
        read<string>("select state from rowhouse.deferred_steps where table_name = 'deep'");
      const earlier = await start(stage.program);
      expect(await push(earlier, define(t.string()))).toMatchObject({ status: 200 });
      const app = `(select app_id from rowhouse.registrations where table_name = 'deep')`;
      await admin.message(`alter table data.deep alter column pad set storage plain;
        insert into data.deep (app_id, id, title, pad) select ${app}, gen_random_uuid(), n::text, repeat(md5(n::text), 150)
          from generate_series(1, ${ROWS}) as n; select 1`);
      await admin.message(`insert into data.wide (app_id, id, count)
          select ${app}, gen_random_uuid(), n::text from generate_series(1, 300000) as n; select 1`);

      const converted = push(earlier, retype).catch(String);
      const hasBegun = () =>
        read<boolean>("exists (select from rowhouse.retypes where after is not null)");
      await eventually(async () => (await hasBegun()) === true, PATIENCE);
      await earlier.kill();
      await converted;

      await withDatabase(addresses.admin, async (blocking) => {
        // The build waits for every earlier snapshot.
        const held = blocking.message(
          "set transaction isolation level repeatable read; select 1; select pg_sleep(600)",
        );
        void held.catch(() => undefined);
        await admin.message("analyze data.deep");
        const building = await start(stage.program);
        const built = await push(building, define(t.string().index()));
        expect(built).toMatchObject({ status: 200 });
        await eventually(async () => (await readState()) === "running", PATIENCE);
        await building.kill();
        await admin.message(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`);
      });
      expect([await readState(), await read("select count(*)::int from rowhouse.retypes")]).toEqual(
        ["running", 1],
      );

      await migrateAll(addresses, ROOT);
      const ours = await start(ROOT);
      const waiting = await push(ours, retype);
      expect([waiting.status, waiting.text]).toEqual([409, expect.stringContaining("push_busy")]);
      await admin.message(`update rowhouse.processes set seen_at = seen_at - interval '4 minutes' where version like '0.1.%';
        update rowhouse.deferred_steps set lease_until = now() where state = 'running'; select 1`);
      const isConverted = async () => (await push(ours, retype)).status === 200;
      await eventually(isConverted, PATIENCE);
      await eventually(async () => (await readState()) === "done", PATIENCE);
      expect(await push(ours, define(t.string().index()))).toMatchObject({ status: 409 });
      expect(
        await read(
          `select json_build_array(count(*), sum(count), pg_typeof(min(count))) from data.wide`,
        ),
      ).toEqual([300_000, 45_000_150_000, "bigint"]);
      expect(await read("select count(*)::int from rowhouse.retypes")).toBe(0);
      expect(
        await read(
          `select bool_and(indisvalid) from pg_index where indrelid = 'data.deep'::regclass`,
        ),
      ).toBe(true);
    });
  } finally {
    for (const serving of open) await serving.kill();
    await stage.close();
  }
}, 600_000);
