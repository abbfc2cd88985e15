/** Random work of three apps on shared tables, over HTTP, against a model that is three maps which know nothing of each other. @module */
import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const schema = defineSchema({
  folders: {
    name: t.string().required().unique(),
    parent: t.ref("folders", { onDelete: "cascade" }),
  },
  sheets: t
    .model({
      folder: t.ref("folders", { onDelete: "cascade" }),
      pinned: t.ref("folders"),
      name: t.string().required(),
    })
    .unique("folder", "name"),
});
const APPS = 3;
type Table = "folders" | "sheets";
type Row = Record<string, string | null>;
/** One app's rows, in the order of their creation. */
type Model = Record<Table, Map<string, Row>>;

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const REFERENCES: Readonly<Record<Table, readonly { column: string; cascade: boolean }[]>> = {
  folders: [{ column: "parent", cascade: true }],
  sheets: [
    { column: "folder", cascade: true },
    { column: "pinned", cascade: false },
  ],
};
const UNIQUES: Readonly<Record<Table, readonly string[]>> = {
  folders: ["name"],
  sheets: ["folder", "name"],
};

/** A write's status by the model. Nothing is written unless it is 200. */
function judge(model: Model, table: Table, row: Row, id: string): number {
  const dangles = REFERENCES[table].some(({ column }) => {
    const to = row[column];
    return to != null && to !== id && !model.folders.has(to);
  });
  const columns = UNIQUES[table];
  const clashes = [...model[table]].some(
    ([other, there]) =>
      other !== id &&
      columns.every((column) => row[column] != null && there[column] === row[column]),
  );
  // Uniques are checked as the row is written, references when the statement ends.
  if (clashes) return 409;
  return dangles ? 422 : 200;
}

/** The rows that a delete takes along, or `undefined` where a row that stays points to one of them. */
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
  // Whether a doomed row that pins another doomed one goes first is PostgreSQL's order of triggers.
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
  /** Names of more rows of a batch, which are otherwise alike. */
  more: string[];
};
const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
const step: fc.Arbitrary<Step> = fc.record({
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

/** An id of any app's folders: most of the time of the app's own, sometimes of another's, sometimes none. */
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

async function runStep(world: World, one: Step): Promise<void> {
  const app = world.apps[one.app];
  const model = world.models[one.app];
  if (app === undefined || model === undefined) throw new Error("No such app");
  const path = `/v1/data/db/${one.table}`;
  const fields: Row =
    one.table === "folders"
      ? { name: one.name, parent: pickFolder(world, one.app, one.to) }
      : {
          name: one.name,
          folder: pickFolder(world, one.app, one.to),
          pinned: pickFolder(world, one.app, one.pin * 5 * (one.pin % 4 === 0 ? 0 : 1)),
        };
  const rows = model[one.table];
  if (one.kind === "list") {
    const response = (await service.call(app, path)).json as { rows: Row[] };
    expect(response.rows).toEqual([...rows].map(([id, row]) => ({ id, app_id: app.id, ...row })));
    return;
  }
  if (one.kind === "create") {
    const response = await service.call(app, path, { method: "POST", json: fields });
    const wanted = judge(model, one.table, fields, "");
    expect(response.status).toBe(wanted === 200 ? 201 : wanted);
    if (wanted !== 200) return;
    const { id, app_id, ...row } = response.json as Row & { id: string };
    expect([app_id, row as unknown]).toEqual([app.id, fields]);
    rows.set(id, row);
    return;
  }
  if (one.kind === "batch") {
    const batch = [one.name, ...one.more].map((name) => ({ ...fields, name }));
    const response = await service.call(app, path, { method: "POST", json: batch });
    // One row after the other, of which the first that is rejected rejects all.
    const tried: Model = { ...model, [one.table]: new Map(rows) };
    const verdicts = batch.map((row, index) => {
      const verdict = judge(tried, one.table, row, "");
      tried[one.table].set(`${index}`, row);
      return verdict;
    });
    const wanted = verdicts.find((verdict) => verdict !== 200) ?? 201;
    expect(response.status).toBe(wanted);
    const made = wanted === 201 ? (response.json as { rows: (Row & { id: string })[] }).rows : [];
    for (const { id, app_id: _, ...row } of made) rows.set(id, row);
    if (wanted === 201) expect([...rows.values()].slice(-batch.length)).toEqual(batch);
    return;
  }
  const id = pickRow(world, one);
  const found = rows.get(id);
  if (one.kind === "get") {
    const response = await service.call(app, `${path}/${id}`);
    expect(response.status).toBe(found === undefined ? 404 : 200);
    if (found !== undefined) expect(response.json).toEqual({ id, app_id: app.id, ...found });
    return;
  }
  if (one.kind === "update") {
    const response = await service.call(app, `${path}/${id}`, { method: "PATCH", json: fields });
    const wanted = found === undefined ? 404 : judge(model, one.table, { ...found, ...fields }, id);
    expect(response.status).toBe(wanted);
    if (wanted === 200) rows.set(id, { ...found, ...fields });
    return;
  }
  const doomed = found === undefined ? undefined : findDoomed(model, one.table, id);
  if (doomed?.size === 0) return;
  const response = await service.call(app, `${path}/${id}`, { method: "DELETE" });
  expect(response.status).toBe(found === undefined ? 404 : doomed === undefined ? 409 : 204);
  for (const gone of doomed ?? []) {
    model.folders.delete(gone);
    model.sheets.delete(gone);
  }
}

test("each app behaves as if it had its own database", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
      const world: World = { apps: [], models: [] };
      for (let index = 0; index < APPS; index++) {
        world.apps.push(await service.makeApp(schema));
        world.models.push({ folders: new Map(), sheets: new Map() });
      }
      for (const one of steps) await runStep(world, one);
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
    { numRuns: countRuns(citusUrl() === undefined ? 25 : 8) },
  );
}, 60_000);
