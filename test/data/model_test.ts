/** Random calls of three apps on shared tables over HTTP, compared with a model of three independent maps. @module */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { drawRuns } from "../support/tier.ts";

const schema = defineSchema({
  folders: {
    name: t.string().required().unique(),
    parent: t.ref("folders", { onDelete: "cascade" }),
  },
  sheets: t
    .model({
      folder: t.ref("folders", { onDelete: "cascade" }),
      pinned: t.ref("folders"),
      // Citus has no such reference.
      former: citusUrl() === undefined ? t.ref("folders", { onDelete: "set null" }) : t.uuid(),
      name: t.string().required(),
    })
    .unique("folder", "name"),
});
const APPS = 3;
type Table = "folders" | "sheets";
type Row = Record<string, string | null>;
/** The rows of an app, in the order of their creation. */
type Model = Record<Table, Map<string, Row>>;

const service = await share(openTestService());

const CLEARED = citusUrl() === undefined ? [{ column: "former", cascade: false }] : [];
const REFERENCES: Readonly<Record<Table, readonly { column: string; cascade: boolean }[]>> = {
  folders: [{ column: "parent", cascade: true }],
  sheets: [{ column: "folder", cascade: true }, { column: "pinned", cascade: false }, ...CLEARED],
};
const UNIQUES: Readonly<Record<Table, readonly string[]>> = {
  folders: ["name"],
  sheets: ["folder", "name"],
};

/** Returns the status of a write in the model. A write with another status than 200 changes nothing. */
function predictStatus(model: Model, table: Table, row: Row, id: string): number {
  const dangles = REFERENCES[table].some(({ column }) => {
    const to = row[column];
    return to != null && to !== id && !model.folders.has(to);
  });
  const columns = UNIQUES[table];
  const isDuplicate = [...model[table]].some(
    ([other, there]) =>
      other !== id &&
      columns.every((column) => row[column] != null && there[column] === row[column]),
  );
  // PostgreSQL checks uniques when it writes the row, and references at the end of the statement.
  if (isDuplicate) return 409;
  return dangles ? 422 : 200;
}

/** Returns the rows that a delete cascades to, or `undefined` if a remaining row references one of them. */
function findDoomed(model: Model, table: Table, id: string): Set<string> | undefined {
  const doomed = new Set([id]);
  if (table === "sheets") return doomed;
  for (let size = 0; size !== doomed.size; ) {
    size = doomed.size;
    for (const [name, rows] of Object.entries(model) as [Table, Map<string, Row>][])
      for (const [other, row] of rows)
        if (
          REFERENCES[name].some(({ column, cascade }) => cascade && doomed.has(row[column] ?? ""))
        )
          doomed.add(other);
  }
  const isHeld = [...model.sheets].some(
    ([other, row]) => !doomed.has(other) && doomed.has(row["pinned"] ?? ""),
  );
  // The order of PostgreSQL's triggers decides if two deleted rows reference each other.
  const isTied = [...model.sheets].some(
    ([other, row]) => doomed.has(other) && doomed.has(row["pinned"] ?? ""),
  );
  if (isTied) return new Set();
  return isHeld ? undefined : doomed;
}

type Step = {
  app: number;
  kind: "create" | "batch" | "update" | "delete" | "get" | "list";
  table: Table;
  pick: number;
  to: number;
  pin: number;
  name: string;
  /** The names of the other rows of a batch. All other columns are equal. */
  more: string[];
};
const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  app: fc.nat(APPS - 1),
  kind: fc.constantFrom(
    "create",
    "create",
    "create",
    "batch",
    "batch",
    "update",
    "update",
    "delete",
    "get",
    "list",
  ),
  table: fc.constantFrom<Table>("folders", "sheets"),
  pick: fc.nat(50),
  to: fc.nat(50),
  pin: fc.nat(200),
  name,
  more: fc.array(name, { maxLength: 3 }),
});

type World = { apps: TestApp[]; models: Model[] };

/** Returns the id of a folder: usually of the app, sometimes of another app, sometimes null. */
function pickFolder(world: World, app: number, pick: number): string | null {
  if (pick % 5 === 0) return null;
  const from = pick % 7 === 0 ? (app + 1) % APPS : app;
  const ids = [...(world.models[from]?.folders.keys() ?? [])];
  return ids[pick % Math.max(ids.length, 1)] ?? null;
}

function pickRow(world: World, { app, table, pick }: Step): string {
  const from = pick % 6 === 0 ? (app + 1) % APPS : app;
  const ids = [...(world.models[from]?.[table].keys() ?? [])];
  return ids[pick % Math.max(ids.length, 1)] ?? "00000000-0000-7000-8000-000000000000";
}

async function runStep(world: World, step: Step): Promise<void> {
  const app = world.apps[step.app];
  const model = world.models[step.app];
  if (app === undefined || model === undefined) throw new Error("No such app");
  const path = `/v1/data/db/${step.table}`;
  const fields: Row =
    step.table === "folders"
      ? { name: step.name, parent: pickFolder(world, step.app, step.to) }
      : {
          name: step.name,
          folder: pickFolder(world, step.app, step.to),
          pinned: pickFolder(world, step.app, step.pin * 5 * (step.pin % 4 === 0 ? 0 : 1)),
          former: pickFolder(world, step.app, step.pin + step.to),
        };
  const rows = model[step.table];
  if (step.kind === "list") {
    const response = (await service.call(app, path)).json as { rows: Row[] };
    expect(response.rows).toEqual([...rows].map(([id, row]) => ({ id, app_id: app.id, ...row })));
    return;
  }
  if (step.kind === "create") {
    const response = await service.call(app, path, { method: "POST", json: fields });
    const wanted = predictStatus(model, step.table, fields, "");
    expect(response.status).toBe(wanted === 200 ? 201 : wanted);
    if (wanted !== 200) return;
    const { id, app_id, ...row } = response.json as Row & { id: string };
    expect([app_id, row as unknown]).toEqual([app.id, fields]);
    rows.set(id, row);
    return;
  }
  if (step.kind === "batch") {
    const batch = [step.name, ...step.more].map((name) => ({ ...fields, name }));
    const response = await service.call(app, path, { method: "POST", json: batch });
    // The rows are checked in order. The first rejected row rejects the batch.
    const tried: Model = { ...model, [step.table]: new Map(rows) };
    const statuses = batch.map((row, index) => {
      const status = predictStatus(tried, step.table, row, "");
      tried[step.table].set(`${index}`, row);
      return status;
    });
    const wanted = statuses.find((status) => status !== 200) ?? 201;
    expect(response.status).toBe(wanted);
    const created =
      wanted === 201 ? (response.json as { rows: (Row & { id: string })[] }).rows : [];
    for (const { id, app_id: _, ...row } of created) rows.set(id, row);
    if (wanted === 201) expect([...rows.values()].slice(-batch.length)).toEqual(batch);
    return;
  }
  const id = pickRow(world, step);
  const found = rows.get(id);
  if (step.kind === "get") {
    const response = await service.call(app, `${path}/${id}`);
    expect(response.status).toBe(found === undefined ? 404 : 200);
    if (found !== undefined) expect(response.json).toEqual({ id, app_id: app.id, ...found });
    return;
  }
  if (step.kind === "update") {
    const response = await service.call(app, `${path}/${id}`, { method: "PATCH", json: fields });
    const wanted =
      found === undefined ? 404 : predictStatus(model, step.table, { ...found, ...fields }, id);
    expect(response.status).toBe(wanted);
    if (wanted === 200) rows.set(id, { ...found, ...fields });
    return;
  }
  const doomed = found === undefined ? undefined : findDoomed(model, step.table, id);
  if (doomed?.size === 0) return;
  const response = await service.call(app, `${path}/${id}`, { method: "DELETE" });
  expect(response.status).toBe(found === undefined ? 404 : doomed === undefined ? 409 : 204);
  for (const gone of doomed ?? []) {
    model.folders.delete(gone);
    model.sheets.delete(gone);
  }
  if (CLEARED.length === 0) return;
  for (const row of model.sheets.values())
    if (doomed?.has(row["former"] ?? "")) row["former"] = null;
}

test("each app behaves as if it had its own database", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 20, maxLength: 80 }), async (steps) => {
      const world: World = { apps: [], models: [] };
      for (let index = 0; index < APPS; index++) {
        world.apps.push(await service.makeApp(schema));
        world.models.push({ folders: new Map(), sheets: new Map() });
      }
      for (const step of steps) await runStep(world, step);
      for (let index = 0; index < APPS; index++)
        for (const table of ["folders", "sheets"] as const)
          await runStep(world, {
            app: index,
            kind: "list",
            table,
            pick: 0,
            to: 0,
            pin: 0,
            name: "a",
            more: [],
          });
    }),
    // A push changes every node of a cluster.
    drawRuns(citusUrl() === undefined ? 25 : 8),
  );
}, 60_000);
