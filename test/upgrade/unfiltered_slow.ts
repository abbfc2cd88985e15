/**
 * A database of 0.1.0 without the preview `filters`: `migrate` builds the indexes and functions of this release beside its own, and its
 * processes answer as before until `rowhouse migrate --contract`, beside processes with and without the preview.
 */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { expectClean, listIndexes } from "../support/former_form.ts";
import { definitionOf } from "../support/service.ts";
import { migrate, migrateAll, toOperator } from "./database.ts";
import { send } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { isInstalled, openStage, SERVERS } from "./stage.ts";

const schema = defineSchema({
  goods: t
    .model({ code: t.string().unique(), price: t.decimal(), note: t.string().index() })
    .unique("price", "code"),
});
const FORMER = ["goods__code__key", "goods__note__idx", "goods__price__code__key"];
const NOW = [
  "goods__code__search_key",
  "goods__note__search_idx",
  "goods__price__code__sorted_key",
];
const GOODS = "/v1/data/db/goods";
const CONDITION = `${GOODS}?note=eq.n1&select=code`;

const servers = SERVERS.filter((name) => name !== "pooled" && isInstalled[name]);
test.each(servers)(
  "without filters, on PostgreSQL %s",
  async (server) => {
    const stage = await openStage(OLDEST, server);
    const addresses = { ...stage.addresses, preview: "live,browser,history" };
    const command = { folder: stage.folder, env: toOperator(addresses) };
    const open: Serving[] = [];
    const start = async (program: string, preview = addresses.preview) => {
      const workers = 1;
      const serving = await startServing({
        ...{ addresses: { ...addresses, preview }, program, shape: "one", workers },
      });
      open.push(serving);
      return serving;
    };
    const ask = (serving: Serving, path: string, sent = {}) =>
      send(
        { url: serving.url, key: stage.frozen.world.keys.diverged },
        path,
        sent,
        () => undefined,
      );
    /** A page and its tag, a row, and errors of unique values, without messages. */
    const readDefault = async (serving: Serving) => {
      const page = await ask(serving, `${GOODS}?limit=2&offset=1`);
      const again = { headers: { "if-none-match": page.headers.get("etag") ?? "" } };
      const create = async (json: object) => {
        const { status, text } = await ask(serving, GOODS, { method: "POST", json });
        const { error, details } = JSON.parse(text) as {
          error: string;
          details: { path: string }[];
        };
        return [status, error, details.map(({ path }) => path)];
      };
      return {
        page: [page.text, page.headers.get("etag")],
        unchanged: (await ask(serving, `${GOODS}?limit=2&offset=1`, again)).status,
        condition: (await ask(serving, CONDITION)).status,
        code: await create({ code: "c3" }),
        pair: await create({ code: "c5", price: "0.5" }),
      };
    };
    try {
      // In this release, it ends the previews that PREVIEW does not name.
      expect(await migrate(addresses, stage)).toMatchObject({ code: 0, err: "" });
      await withDatabase(addresses.admin, async (admin) => {
        const earlier = await start(stage.program);
        const define = { kind: "define", definition: definitionOf(schema) };
        const pushed = { method: "POST", json: { steps: [define] } };
        expect(await ask(earlier, "/v1/data/schema", pushed)).toMatchObject({ status: 200 });
        const rows = Array.from({ length: 20 }, (_, n) => ({
          ...{ code: `c${n}`, price: `${n / 10}`, note: `n${n % 5}` },
        }));
        const created = await ask(earlier, GOODS, { method: "POST", json: rows });
        expect(created.status).toBe(201);
        expect(await listIndexes(admin, "goods")).toEqual(FORMER);
        const before = await readDefault(earlier);
        expect(before).toMatchObject({ unchanged: 304, condition: 400 });
        expect(before.page[0]).not.toContain('"next"');

        await migrateAll(addresses, ROOT);
        expect(await listIndexes(admin, "goods")).toEqual([...FORMER, ...NOW].sort());
        await expectClean(admin);
        const [without, with_] = [await start(ROOT), await start(ROOT, "filters")];
        for (const serving of [earlier, without])
          expect(await readDefault(serving)).toEqual(before);
        const { page, ...rest } = await readDefault(with_);
        expect(rest).toEqual({ ...before, page: undefined, condition: 200 } as never);
        expect(page[0]).toMatch(/,"hasMore":true,"next":"[\w-]+"\}$/);
        expect((await ask(with_, CONDITION)).text).toContain('"code":"c1"');
        const upsert = await ask(with_, `${GOODS}?onConflict=code`, {
          ...{ method: "POST", json: { code: "c1", note: "changed" } },
          headers: { prefer: "resolution=merge-duplicates" },
        });
        expect(upsert).toMatchObject({ status: 200 });

        await earlier.stop();
        await admin.message(
          "update rowhouse.processes set seen_at = seen_at - interval '1 hour' where version like '0.1.%'; select 1",
        );
        expect(await runCommand(["migrate", "--contract", "--yes"], command)).toMatchObject({
          code: 0,
        });
        expect(await listIndexes(admin, "goods")).toEqual(NOW);
        await expectClean(admin);
        const { page: after, ...others } = await readDefault(without);
        expect(others).toEqual({ ...before, page: undefined } as never);
        expect(after[0]).not.toContain('"next"');
        expect((await ask(with_, CONDITION)).status).toBe(200);
      });
    } finally {
      for (const serving of open) await serving.stop();
      await stage.close();
    }
  },
  600_000,
);
