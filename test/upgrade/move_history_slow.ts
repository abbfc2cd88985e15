/** `rowhouse admin move-database`: the history of rows arrives with its order and its changed columns, for each app alone. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, type Database } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { HISTORY_BYTES, HISTORY_STEP } from "../../src/std/limits.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";
import { postChange } from "../support/push.ts";
import { openTestService, type TestApp, type TestService, UNGUARDED } from "../support/service.ts";
import { moveDatabase } from "./move_database.ts";

const NEXT = `next_${crypto.randomUUID().slice(-12)}`;
const folder = mkdtempSync(join(tmpdir(), "rowhouse-move-"));
const root = () => clusterUrls()?.admin ?? "";
const toNext = (url: string) => Object.assign(new URL(url), { pathname: `/${NEXT}` }).href;
const previews = ["history"] as const;
type Written = { app: TestApp; table: string; path: string };

let service: TestService;
let moved: TestService;
let written: Written[];
beforeAll(async () => {
  service = await openTestService({ service: { previews } });
  written = await Promise.all(["notes", "lists"].map(writeRows));
  // The service still runs: it must not write during the move.
  const values = { max_rows: HISTORY_STEP, max_bytes: HISTORY_BYTES };
  while ((await call(service.service.db, "sweep_history", values)) > 0);
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
  await moveDatabase(service.service.admin, NEXT, { folder, env });
  moved = await openTestService({
    ...{ toServingUrl: toNext, toAdminUrl: toNext },
    service: { ...UNGUARDED, previews },
  });
}, 60_000);
afterAll(async () => {
  await moved?.close();
  await service?.close();
  await withDatabase(root(), (admin) =>
    admin.message(`drop database if exists ${NEXT} with (force)`),
  );
  rmSync(folder, { recursive: true, force: true });
});

async function writeRows(table: string): Promise<Written> {
  const columns = { title: t.string(), mark: t.string() };
  const app = await service.makeApp(defineSchema({ [table]: columns }));
  await setAppSwitch(service.service, app.slug, ["history", true]);
  const list = `/v1/data/db/${table}`;
  const json = { title: `${table} 1`, mark: "x" };
  const { json: row } = await service.call(app, list, { method: "POST", json });
  const path = `${list}/${(row as { id: string }).id}`;
  await service.call(app, path, { method: "PATCH", json: { title: `${table} 2` } });
  // The sweep renames it in what is stored.
  await postChange(service, app, { kind: "rename_column", table, column: "mark", to: "sign" });
  return { app, table, path };
}

type Change = { table: string; before: Record<string, string>; after: unknown };
const readChanges = (admin: Database, { app }: Written) =>
  admin.message<Change>(`set rowhouse.app_id = '${app.id}';
    select table_name as table, before, after from rowhouse.row_changes
    where app_id = '${app.id}' order by id`);

test("each app has its changes, renamed as its columns, and later ones follow them", async () => {
  for (const { app, path, table } of written) {
    const json = { title: `${table} 3` };
    expect((await moved.call(app, path, { method: "PATCH", json })).status).toBe(200);
  }
  for (const of of written) {
    const { table } = of;
    const expected = [1, 2].map((n) => ({
      ...{ table, before: { title: `${table} ${n}`, sign: "x" } },
      after: { title: `${table} ${n + 1}` },
    }));
    await withDatabase(toNext(root()), async (admin) =>
      expect(await readChanges(admin, of)).toEqual(expected),
    );
  }
});
