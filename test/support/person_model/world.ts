/** An app with random tables, people with roles and their keys, and the rows as the app's own server reads them. @module */

import { type Definition, readDefinition } from "../../../src/schema/mod.ts";
import { mintPersonKey } from "../minted_key.ts";
import { openToBrowsers } from "../person_keys.ts";
import { pushDefinition } from "../push_steps.ts";
import type { Random } from "../query_fuzz.ts";
import type { Call, TestApp, TestResponse, TestService } from "../service.ts";
import { type Drawn, drawRules, drawSchema, ROLES } from "./draw_schema.ts";
import { isSame, type ModelTable, type Person, type Row, type Sight, type State } from "./rules.ts";
import { toSchema } from "./to_schema.ts";

export type Caller = Person & { readonly key: string };

export type World = {
  readonly service: TestService;
  readonly app: TestApp;
  readonly drawn: Drawn;
  readonly random: Random;
  readonly people: readonly Caller[];
  tables: readonly ModelTable[];
  state: State;
};

/** An app without rows and rules; each role has a person, and the first role has two. */
export async function openWorld(
  service: TestService,
  { random, suffix }: { random: Random; suffix: string },
): Promise<World> {
  const drawn = drawSchema(random, suffix);
  const app = await service.makeApp();
  await openToBrowsers(service, app);
  const people: Caller[] = [];
  for (const role of [...ROLES, ROLES[0]]) {
    const id = crypto.randomUUID();
    const key = await mintPersonKey(service.service.admin, { app: app.id, person: id, role });
    service.secrets.add(key);
    people.push({ id, role, key });
  }
  const state = new Map(drawn.tables.map(({ name }) => [name, []]));
  return { service, app, drawn, random, people, tables: drawn.tables, state };
}

/** Draws other rules, and pushes them. @returns why the push rejects them */
export async function changeRules(world: World): Promise<string | undefined> {
  const tables = drawRules(world.random, world.drawn);
  const read = readDefinition(toSchema(tables));
  if ("issues" in read) return JSON.stringify(read.issues);
  await pushTables(world, read.definition);
  world.tables = tables;
  return undefined;
}

/** The definition of the tables, as the service reads it. */
export function definitionOfTables(tables: readonly ModelTable[]): Definition {
  const read = readDefinition(toSchema(tables));
  if ("issues" in read) throw new Error(JSON.stringify(read.issues));
  return read.definition;
}

async function pushTables({ service, app }: World, definition: Definition): Promise<void> {
  // A definition is checked twice: as a schema, and as the data that is sent.
  const again = readDefinition(JSON.parse(JSON.stringify(definition)));
  if ("issues" in again) throw new Error(JSON.stringify(again.issues));
  const options = { app, definition: again.definition, options: { dryRun: false } };
  await pushDefinition({ admin: service.pushing, log: () => undefined }, options);
}

export function pathOf(table: string): string {
  return `/v1/data/db/${table}`;
}

/** Sends a request as a person. */
export function callAs(
  { service, app }: World,
  { key }: Pick<Caller, "key">,
  path: string,
  call: Call = {},
): Promise<TestResponse> {
  return service.call(app, path, { ...call, key });
}

export function sightOf({ tables, state }: World, person: Person): Sight {
  return { tables, state, person };
}

/** Reads the rows of tables as the app's own server. */
export async function readState(world: World, tables = world.tables): Promise<State> {
  const read = await Promise.all(
    tables.map(async ({ name }) => {
      const { json, text } = await world.service.call(world.app, pathOf(name));
      const { rows } = json as { rows: Row[] };
      if (!Array.isArray(rows)) throw new Error(text);
      return [name, rows] as const;
    }),
  );
  return new Map([...world.state, ...read]);
}

/** How two states differ; `undefined` if they are equal. */
export function differ(
  tables: readonly ModelTable[],
  found: State,
  wanted: State,
): string | undefined {
  for (const table of tables) {
    const [rows, expected] = [found.get(table.name) ?? [], wanted.get(table.name) ?? []];
    const [ids, wantedIds] = [rows, expected].map((list) => list.map(({ id }) => id).join());
    if (ids !== wantedIds) return `${table.name} has the rows ${ids} instead of ${wantedIds}`;
    for (const [index, row] of rows.entries())
      for (const column of table.columns) {
        if (column.onUpdate !== undefined) continue;
        const [a, b] = [row[column.name] ?? null, expected[index]?.[column.name] ?? null];
        const same = a === null || b === null ? a === b : isSame(column, a, b);
        if (!same)
          return `${table.name}.${column.name} of ${row.id} is ${JSON.stringify(a)} instead of ${JSON.stringify(b)}`;
      }
  }
  return undefined;
}
