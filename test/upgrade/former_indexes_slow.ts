/**
 * Indexes with numbers, decimals and enums, which 0.1.0 built otherwise: its processes search theirs until `rowhouse migrate --contract`,
 * beside processes of the working tree; a unique constraint holds at all times; and pushes work with both.
 */
import { expect, test } from "bun:test";
import { type Database, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { checkContract } from "../../src/service/doctor/schema_state.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { expectClean, listIndexes } from "../support/former_form.ts";
import { whileLocked } from "../support/held_lock.ts";
import { definitionOf } from "../support/service.ts";
import { isFull } from "../support/tier.ts";
import { migrate, migrateAll, toOperator } from "./database.ts";
import { send } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { isInstalled, openStage, SERVERS } from "./stage.ts";

const makeSchema = (statuses: [string, ...string[]]) =>
  defineSchema({
    goods: t
      .model({
        code: t.string().unique(),
        price: t.decimal().index(),
        weight: t.number().unique(),
        status: t.enum(statuses),
        size: t.enum(["s", "m"]),
        due: t.date(),
      })
      .index("status", "due")
      .index("status", "size")
      .index("code", "price")
      .unique("status", "code")
      .unique("price", "code"),
  });
const schema = makeSchema(["new", "sold", "lost"]);
const FORMER = [
  "goods__code__price__search_idx",
  "goods__price__code__search_key",
  "goods__price__search_idx",
  "goods__status__code__search_key",
  "goods__status__due__11507a_idx",
  "goods__status__due__76f75e_idx",
  "goods__status__due__a6fffc_idx",
  "goods__status__due__null_idx",
  "goods__status__size__idx",
  "goods__weight__search_key",
];
/** As both releases build them. */
const SAME = ["goods__code__search_key"];
const NOW = [
  "goods__code__price__sorted_idx",
  "goods__price__code__sorted_key",
  "goods__price__sorted_idx",
  "goods__status__code__sorted_key",
  "goods__status__due__sorted_idx",
  "goods__status__size__sorted_idx",
  "goods__weight__key",
];
const KEYS = ["#price", "#weight"];
const ROWS = 60;
/** Lists of 0.1.0 with an index, and the codes of their rows. */
const LISTS: [query: string, codes: number[]][] = [
  ["price=gte.5.5&order=price&limit=2", [55, 56]],
  ["order=price.desc&limit=2", [59, 58]],
  ["weight=eq.7.5", [7]],
  ["status=eq.sold&order=due.desc&limit=2", [58, 55]],
  ["status=in.(new,lost)&code=eq.c3", [3]],
  ["status=is.null&order=id", []],
];

const all = SERVERS.filter((name) => name !== "pooled" && isInstalled[name]);
// A reduced run finds on 18 what the programs do. What 15 does otherwise, `frozen_slow.ts` finds: it upgrades on 15 too, reads and runs `doctor`.
const servers = isFull() ? all : all.slice(0, 1);
test.each(servers)(
  "stay until the contract step, on PostgreSQL %s",
  async (server) => {
    const stage = await openStage(OLDEST, server);
    const { addresses, frozen, folder } = stage;
    const open: Serving[] = [];
    const start = async (program: string) => {
      const serving = await startServing({ addresses, program, shape: "one", workers: 1 });
      open.push(serving);
      return serving;
    };
    const ask = ({ url }: Serving, path: string, sent = {}) =>
      send({ url, key: frozen.world.keys.diverged }, path, sent, () => undefined);
    const push = (serving: Serving, step: object) =>
      ask(serving, "/v1/data/schema", { method: "POST", json: { steps: [step] } });
    const list = async (serving: Serving, query: string): Promise<unknown[]> => {
      const { status, text } = await ask(serving, `/v1/data/db/goods?${query}`);
      if (status !== 200) return [query, text];
      const { rows } = JSON.parse(text) as { rows: { code: string }[] };
      return [query, rows.map(({ code }) => Number(code.slice(1)))];
    };
    const expectLists = async (...processes: Serving[]) => {
      for (const serving of processes)
        for (const expected of LISTS) expect(await list(serving, expected[0])).toEqual(expected);
    };
    const upsert = (serving: Serving, on: string, json: object) =>
      ask(serving, `/v1/data/db/goods?onConflict=${on}`, {
        ...{ method: "POST", json },
        headers: { prefer: "resolution=merge-duplicates" },
      });
    const expectUnique = async (...processes: Serving[]) => {
      for (const serving of processes) {
        const create = (json: object) =>
          ask(serving, "/v1/data/db/goods", { method: "POST", json }).then(({ text }) =>
            text.replace(/"message.*?"details"/, '"details"'),
          );
        expect(await create({ code: "other", weight: 7.5 })).toContain("unique_violation");
        expect(await create({ code: "c7", weight: -1 })).toContain("unique_violation");
      }
    };
    const contract = ["migrate", "--contract", "--yes"];
    const command = { folder, env: toOperator(addresses) };
    try {
      await withDatabase(addresses.admin, async (admin) => {
        const earlier = await start(stage.program);
        expect(
          await push(earlier, { kind: "define", definition: definitionOf(schema) }),
        ).toMatchObject({ status: 200 });
        const rows = Array.from({ length: ROWS }, (_, n) => ({
          ...{ code: `c${n}`, price: `${n / 10}`, weight: n + 0.5 },
          ...{ status: ["new", "sold", "lost"][n % 3], size: "m" },
          due: `2026-01-${String(1 + Math.floor(n / 3)).padStart(2, "0")}`,
        }));
        expect(
          await ask(earlier, "/v1/data/db/goods", { method: "POST", json: rows }),
        ).toMatchObject({ status: 201 });
        const withSame = (...lists: string[][]) => [...SAME, ...lists.flat()].sort();
        expect(await listIndexes(admin, "goods")).toEqual(withSame(FORMER));
        await expectLists(earlier);

        await migrateAll(addresses, ROOT);
        expect(await listIndexes(admin, "goods")).toEqual(withSame(FORMER, NOW));
        expect(await listKeys(admin)).toEqual(KEYS);
        // Its process would take a build for one of another form, and drop the index.
        await admin.message("update rowhouse.deferred_steps set state = 'waiting'; select 1");
        expect(
          await readRows(admin, "select from rowhouse.claim_deferred_step(0::bigint, 60)"),
        ).toEqual([]);
        await admin.message("update rowhouse.deferred_steps set state = 'done'; select 1");
        await expectClean(admin);
        const ours = await start(ROOT);
        await expectLists(earlier, ours);
        await expectUnique(earlier, ours);
        const item = { code: "c7", status: "sold", weight: 7.5, price: "0.7" };
        for (const [on, serving] of ["code", "weight", "status,code", "price,code"].flatMap((on) =>
          [earlier, ours].map((serving) => [on, serving] as const),
        ))
          expect([
            on,
            await upsert(serving, on, [item, { ...item, code: crypto.randomUUID(), weight: null }]),
          ]).toMatchObject([on, { status: 200 }]);
        expect((await runCommand(contract, command)).code).toBe(1);
        expect(await listIndexes(admin, "goods")).toEqual(withSame(FORMER, NOW));

        await earlier.stop();
        const change = async (changed: object) => {
          expect(await push(ours, { kind: "change", change: changed })).toMatchObject({
            status: 200,
          });
          await expectBuilt(admin);
          await expectClean(admin);
        };
        const rename = { kind: "rename_column", table: "goods", column: "price", to: "cost" };
        await change(rename);
        expect(await listKeys(admin)).toEqual(["#cost", "#weight"]);
        expect(await listIndexes(admin, "goods")).toContain("goods__cost__code__search_key");
        await change({ ...rename, column: "cost", to: "price" });
        await change({ kind: "rename_table", table: "goods", to: "wares" });
        await change({ kind: "rename_table", table: "wares", to: "goods" });
        expect(await listIndexes(admin, "goods")).toEqual(withSame(FORMER, NOW));
        const grown = definitionOf(makeSchema(["new", "sold", "lost", "kept"]));
        expect(await push(ours, { kind: "define", definition: grown })).toMatchObject({
          status: 200,
        });
        await expectClean(admin);
        await change({ kind: "drop_value", table: "goods", column: "status", value: "kept" });
        const retype = { kind: "retype_column", table: "goods", column: "weight" };
        await change({ ...retype, type: { kind: "decimal" } });
        expect(await listKeys(admin)).toEqual(["#price"]);
        expect(await listIndexes(admin, "goods")).not.toContain("goods__weight__search_key");
        await change({ ...retype, type: { kind: "number" } });
        await expectLists(ours);
        await expectUnique(ours);

        await admin.message(
          "update rowhouse.processes set seen_at = seen_at - interval '1 hour' where version like '0.1.%'; select 1",
        );
        // As before the new indexes are built.
        await admin.message(
          "drop index data.goods__price__code__sorted_key, data.goods__price__sorted_idx; select 1",
        );
        const unbuilt = await runCommand(contract, command);
        expect(unbuilt).toMatchObject({
          ...{
            code: 1,
            err: expect.stringContaining("are not built yet: goods__price__code__sorted_key"),
          },
        });
        expect(await upsert(ours, "price,code", [item])).toMatchObject({ status: 200 });
        await expectLists(ours);
        expect(await migrate(addresses)).toMatchObject({ code: 0 });
        // Killed in its last step, which waits for the table.
        await whileLocked(addresses.admin, "goods", async () => {
          const running = startCommand(contract, command);
          await running.until(/Removed: the record of these functions/);
          await running.kill("SIGKILL");
        });
        const [warning] = await checkContract(admin);
        expect(warning).toMatchObject({ level: "warn" });
        expect(await readDrift(admin)).not.toEqual([]);
        expect(await runCommand(contract, command)).toMatchObject({ code: 0 });
        expect(await listIndexes(admin, "goods")).toEqual(withSame(NOW));
        expect(await listKeys(admin)).toEqual([]);
        expect(await checkContract(admin)).toEqual([]);
        await expectClean(admin);
        expect((await runCommand(contract, command)).out).toBe("Nothing to do\n");
        await expectLists(ours);
        await expectUnique(ours);
        for (const on of ["code", "weight", "status,code", "price,code"])
          expect([on, await upsert(ours, on, [item])]).toMatchObject([on, { status: 200 }]);
        await change({ kind: "drop_column", table: "goods", column: "price" });
      });
    } finally {
      for (const serving of open) await serving.stop();
      await stage.close();
    }
  },
  600_000,
);

async function listKeys(admin: Database): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    admin,
    `select attname as name from pg_catalog.pg_attribute
    where attrelid = 'data.goods'::regclass and attname like '#%' and not attisdropped
    order by attname`,
  );
  return rows.map(({ name }) => name);
}

async function expectBuilt(admin: Database): Promise<void> {
  await eventually(async () => {
    const [row] = await readRows<{ count: number }>(
      admin,
      "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
    );
    return row?.count === 0;
  });
}
