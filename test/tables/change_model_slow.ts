/**
 * Compares explicit changes with a model: random schemas, rows and changes at three services, random kills between two
 * messages, and an app that shares the tables. In the end, every service has the tables and rows of the model.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { Database } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import type { Kind, NamedColumn } from "../../src/schema/mod.ts";
import { canonicalJson } from "../../src/std/json.ts";
import { splitMigrationText } from "../../src/tables/history/migration_text.ts";
import { type Change, readDrift } from "../../src/tables/mod.ts";
import {
  freshName,
  postChange,
  postDefinition,
  postSteps,
  readMigrations,
} from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../support/service.ts";
import { drawRuns } from "../support/tier.ts";

const services: TestService[] = [];
beforeAll(async () => {
  for (let n = 0; n < 3; n++) services.push(await openTestService());
});
afterAll(async () => {
  for (const service of services) await service.close();
});

type Value = string | number | boolean | null;
/** The project's tables with their columns. */
type Model = Map<string, NamedColumn[]>;
/** A service with an app of the project, an app that shares its tables, and the expected rows. */
type Environment = {
  service: TestService;
  app: TestApp;
  sharing: TestApp;
  applied: number;
  rows: Map<string, Record<string, Value>[]>;
};
type Project = { model: Model; journal: { text: string; change: Change | undefined }[] };
type Draw = fc.GeneratorValue;

const COLUMNS = ["aa", "bb", "cc", "dd", "ee"];
/** A value of each kind that converts to all kinds in `CONVERTS`. */
const VALUES: Partial<Record<Kind, Value>> = {
  string: "7",
  number: 7,
  decimal: "7",
  boolean: true,
  enum: "open",
  json: "7",
};
const CONVERTS: Partial<Record<Kind, readonly Kind[]>> = {
  string: ["number", "decimal", "json"],
  number: ["decimal", "string"],
  decimal: ["number", "string"],
  json: ["string"],
};

const makeColumn = (name: string, kind: Kind): NamedColumn => ({
  ...{ name, kind, required: false, unique: false, index: kind === "string" || kind === "number" },
  ...(kind === "enum" ? { values: ["open", "doing", "done"] } : {}),
});
const toDefinition = (model: Model) => ({
  version: 1,
  tables: [...model].map(([name, columns]) => ({ name, columns, indexes: [], uniques: [] })),
});
/** Draws the index of an item: fast-check prints the drawn values when the property fails. */
const pick = <Item>(draw: Draw, items: readonly Item[]): Item =>
  items[draw(fc.nat, items.length - 1) as number] as Item;
const withoutNulls = (row: Record<string, Value>) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));

/** Returns a random change that the model allows, or `undefined` if the model allows none of the drawn kind. */
function drawChange(draw: Draw, model: Model): Change | undefined {
  const [table, columns] = pick(draw, [...model]);
  const column = pick(draw, columns);
  const free = COLUMNS.filter((name) => !columns.some((other) => other.name === name));
  switch (pick(draw, ["rename", "rename", "drop", "retype", "retype", "table", "value", "last"])) {
    case "rename":
      return free.length === 0
        ? undefined
        : { kind: "rename_column", table, column: column.name, to: pick(draw, free) };
    case "drop":
      return columns.length < 2 ? undefined : { kind: "drop_column", table, column: column.name };
    case "retype": {
      const kinds = CONVERTS[column.kind]?.filter((kind) => kind !== "json" || !column.index) ?? [];
      const kind = kinds.length === 0 ? undefined : pick(draw, kinds);
      if (kind === undefined) return undefined;
      return { kind: "retype_column", table, column: column.name, type: { kind } };
    }
    case "table":
      return { kind: "rename_table", table, to: freshName() };
    case "value": {
      const last = column.values?.at(-1);
      if (last === undefined || last === "open") return undefined;
      return { kind: "drop_value", table, column: column.name, value: last };
    }
    default:
      return model.size < 2 ? undefined : { kind: "drop_table", table };
  }
}

function changeModel(model: Model, change: Change): void {
  const columns = model.get(change.table) ?? [];
  const replace = (map: (column: NamedColumn) => NamedColumn[]) =>
    model.set(
      change.table,
      columns.flatMap((column) =>
        "column" in change && column.name === change.column ? map(column) : [column],
      ),
    );
  if (change.kind === "rename_column") replace((column) => [{ ...column, name: change.to }]);
  else if (change.kind === "drop_column") replace(() => []);
  else if (change.kind === "retype_column") replace((column) => [{ ...column, ...change.type }]);
  else if (change.kind === "drop_value")
    replace((column) => [
      { ...column, values: column.values?.filter((value) => value !== change.value) ?? [] },
    ]);
  else {
    model.delete(change.table);
    if (change.kind === "rename_table") model.set(change.to, columns);
  }
}

function changeRows(rows: Environment["rows"], change: Change): void {
  const before = rows.get(change.table) ?? [];
  const after = before.map((row) => {
    if (!("column" in change)) return row;
    const { [change.column]: value = null, ...rest } = row;
    if (change.kind === "rename_column") return { ...rest, [change.to]: value };
    if (change.kind === "drop_column") return rest;
    if (change.kind !== "retype_column" || value === null) return row;
    return { ...rest, [change.column]: VALUES[change.type.kind] ?? null };
  });
  rows.delete(change.table);
  if (change.kind !== "drop_table")
    rows.set(change.kind === "rename_table" ? change.to : change.table, after);
}

class Killed extends Error {}

/** Returns a database that fails before or after one of its next messages, like a killed process. */
function makeMortal(
  admin: Database,
  { after, isSent }: { after: number; isSent: boolean },
): Database {
  let left = after;
  return {
    ...admin,
    message: async (text, options) => {
      if (left === 0 && !isSent) throw new Killed();
      const rows = await admin.message<never>(text, options);
      if (left-- === 0) throw new Killed();
      return rows;
    },
  };
}

/** Repeats a change until no other change is running. */
async function retryChange<Result>(run: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Problem && error.code === "push_busy")) throw error;
    }
    await Bun.sleep(50);
  }
}

async function changeAt({ service, app }: Environment, change: Change, draw: Draw): Promise<void> {
  const log = () => undefined;
  const request = { app, change, options: { dryRun: false } };
  const kill = { after: draw(fc.nat, 6) as number, isSent: draw(fc.boolean) as boolean };
  const mortal = { admin: makeMortal(service.pushing, kill), log };
  await retryChange(() => applyChange(mortal, request)).catch((error) => {
    if (!(error instanceof Killed)) throw error;
  });
  await retryChange(() => applyChange({ admin: service.pushing, log }, request));
}

/** Repeats a request while the server is busy, for example with a deferred build of an earlier push. */
async function retryPost(post: () => Promise<TestResponse>): Promise<TestResponse> {
  for (;;) {
    const response = await post();
    if (Object(response.json).error !== "push_busy") return response;
    await Bun.sleep(50);
  }
}

async function pushAt(environment: Environment, { model }: Project): Promise<void> {
  const { service, app } = environment;
  const response = await retryPost(() => postDefinition(service, app, toDefinition(model)));
  expect(response).toMatchObject({ status: 200 });
}

/** Applies the project's migrations that an environment lacks. */
async function catchUp(environment: Environment, { model, journal }: Project): Promise<void> {
  for (const { text, change } of journal.slice(environment.applied)) {
    const followed = splitMigrationText(text)?.definition !== canonicalJson(toDefinition(model));
    const steps = [{ kind: "migration", text, followed }];
    const response = await retryPost(() => postSteps(environment.service, environment.app, steps));
    expect(response).toMatchObject({ status: 200, json: { status: "applied" } });
    environment.applied++;
    if (change !== undefined) changeRows(environment.rows, change);
  }
}

async function recordMigration(
  environment: Environment,
  { journal }: Project,
  change?: Change,
): Promise<void> {
  const texts = (await readMigrations(environment.service, environment.app)).map(
    ({ text }) => text,
  );
  if (texts.length === journal.length) return;
  expect(texts.length).toBe(journal.length + 1);
  journal.push({ text: texts.at(-1) ?? "", change });
  environment.applied = texts.length;
  if (change !== undefined) changeRows(environment.rows, change);
}

async function writeRow(environment: Environment, { model }: Project, draw: Draw): Promise<void> {
  const [table, columns] = pick(draw, [...model]);
  const row = Object.fromEntries(
    columns.map(({ name, kind }) => [name, draw(fc.boolean) ? (VALUES[kind] ?? null) : null]),
  );
  const call = { method: "POST", json: row };
  const response = await environment.service.call(environment.app, `/v1/data/db/${table}`, call);
  expect(response).toMatchObject({ status: 201, json: row });
  environment.rows.set(table, [...(environment.rows.get(table) ?? []), row]);
}

async function readRows({ service, app }: Pick<Environment, "service" | "app">, table: string) {
  const { json } = await service.call(app, `/v1/data/db/${table}`);
  const { rows } = json as { rows: Record<string, Value>[] };
  return rows.map(({ id: _, app_id: __, ...row }) => withoutNulls(row));
}

/** Returns PostgreSQL's columns and indexes of a table, without the oids of types. */
async function readTable({ service, app }: Environment, table: string): Promise<unknown> {
  return await service.query(
    `select replace(definition::text, $2, 'the app') as definition, array(select concat_ws(' ', attname, atttypid::regtype,
        attnotnull) from pg_attribute where attrelid = format('data.%I', name)::regclass
        and attnum > 0 and not attisdropped order by attname) as columns,
      array(select indexrelid::regclass::text from pg_index
        where indrelid = format('data.%I', name)::regclass order by 1) as indexes
      from rowhouse.tables where name = $1`,
    [table, app.id],
  );
}

test("changes, kills and replays leave every service with the model's tables and rows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (draw) => {
      const environments: Environment[] = [];
      for (const service of services)
        environments.push({
          ...{ service, app: await service.makeApp(), sharing: await service.makeApp() },
          ...{ applied: 0, rows: new Map() },
        });
      const project: Project = { model: new Map(), journal: [] };
      const kinds = ["string", "number", "decimal", "boolean", "enum", "json"] as const;
      const shared = freshName("shared");
      project.model.set(shared, [makeColumn("kept", "string"), makeColumn("aa", "string")]);
      project.model.set(freshName(), [makeColumn("aa", pick(draw, kinds))]);
      for (const environment of environments) {
        await (environment === environments[0]
          ? pushAt(environment, project)
          : catchUp(environment, project));
        if (environment === environments[0]) await recordMigration(environment, project);
        const declared = new Map([[shared, [makeColumn("kept", "string")]]]);
        const definition = toDefinition(declared);
        expect(
          await postDefinition(environment.service, environment.sharing, definition),
        ).toMatchObject({ status: 200 });
        const call = { method: "POST", json: { kept: "theirs" } };
        await environment.service.call(environment.sharing, `/v1/data/db/${shared}`, call);
      }
      const theirs = async ({ service, sharing }: Environment) =>
        (await service.call(sharing, `/v1/data/db/${shared}`)).text;
      const before = await Promise.all(environments.map(theirs));

      for (let turn = 0; turn < 8; turn++) {
        const environment = pick(draw, environments);
        await catchUp(environment, project);
        await writeRow(environment, project, draw);
        if (draw(fc.boolean)) {
          const [, columns] = pick(draw, [...project.model]);
          const free = COLUMNS.filter((name) => !columns.some((column) => column.name === name));
          if (free.length > 0) columns.push(makeColumn(pick(draw, free), pick(draw, kinds)));
          await pushAt(environment, project);
          await recordMigration(environment, project);
        }
        const change = drawChange(draw, project.model);
        if (change === undefined) continue;
        const isBlocked =
          change.table === shared && (!("column" in change) || change.column === "kept");
        if (isBlocked) {
          const rejected = await postChange(environment.service, environment.app, change);
          expect(rejected).toMatchObject({ status: 409, json: { error: "incompatible_schema" } });
          expect(rejected.text).not.toContain(environment.sharing.slug);
          continue;
        }
        await changeAt(environment, change, draw);
        changeModel(project.model, change);
        await recordMigration(environment, project, change);
      }

      for (const environment of environments) {
        await catchUp(environment, project);
        const response = await postDefinition(
          environment.service,
          environment.app,
          toDefinition(project.model),
        );
        expect(response.json).toMatchObject({ status: "unchanged" });
        expect(await readDrift(environment.service.service.admin)).toEqual([]);
        for (const table of project.model.keys()) {
          expect(await readRows(environment, table)).toEqual(
            (environment.rows.get(table) ?? []).map(withoutNulls),
          );
          expect(await readTable(environment, table)).toEqual(
            await readTable(environments[0] ?? environment, table),
          );
        }
      }
      expect(await Promise.all(environments.map(theirs))).toEqual(before);
    }),
    { ...drawRuns(40), endOnFailure: true },
  );
}, 600_000);
