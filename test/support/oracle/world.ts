/** An app with random tables, people with roles and their keys, and the rows as the app's own server reads them. @module */

import { type Definition, readDefinition } from "../../../src/schema/mod.ts";
import { mintPersonKey } from "../minted_key.ts";
import { openToBrowsers } from "../person_keys.ts";
import { pushDefinition } from "../push_steps.ts";
import type { Random } from "../random.ts";
import type { Call, TestApp, TestResponse, TestService } from "../service.ts";
import { type Drawn, drawRules, drawSchema, ROLES } from "./draw_schema.ts";
import {
  isSame,
  type ModelColumn,
  type ModelTable,
  type Person,
  type Row,
  SERVER,
  type Sight,
  type State,
} from "./rules.ts";
import { toSchema } from "./to_schema.ts";

export type Caller = Person & { readonly key: string };

export type World = {
  readonly service: TestService;
  readonly app: TestApp;
  readonly drawn: Drawn;
  readonly random: Random;
  /** People, and the app's server. */
  readonly callers: readonly Caller[];
  readonly counts: Counts;
  tables: readonly ModelTable[];
  state: State;
};

/** What the queries of a run found. */
export type Counts = {
  queries: number;
  pages: number;
  /** Pages with a count that is not null. */
  counted: number;
  /** Rows that were created between the pages of a query. */
  inserted: number;
  /** Pages with related rows that are not empty. */
  related: number;
  groups: number;
  /** Requests that exceeded a limit. */
  limited: number;
};

export const NO_COUNTS: Counts = {
  ...{ queries: 0, pages: 0, counted: 0, inserted: 0, related: 0, groups: 0, limited: 0 },
};

export type WorldOptions = {
  readonly random: Random;
  readonly suffix: string;
  /** Whether people send requests; otherwise only the app's server does. */
  readonly hasPeople?: boolean;
  readonly counts?: Counts;
};

/** An app without rows and rules. Each role has a person, and the first role has two. */
export async function openWorld(
  service: TestService,
  { random, suffix, hasPeople = true, counts = { ...NO_COUNTS } }: WorldOptions,
): Promise<World> {
  const all = drawSchema(random, suffix);
  const drawn = hasPeople ? all : { ...all, tables: all.tables.map(withoutOwners) };
  const app = await service.makeApp();
  if (hasPeople) await openToBrowsers(service, app);
  const callers: Caller[] = [{ id: crypto.randomUUID(), role: SERVER, key: app.key }];
  for (const role of hasPeople ? [...ROLES, ROLES[0]] : []) {
    const id = crypto.randomUUID();
    callers.push({ id, role, key: await mintKey(service, app, { id, role }) });
  }
  const state = new Map(drawn.tables.map(({ name }) => [name, []]));
  const { tables } = drawn;
  return { service, app, drawn, random, callers, counts, tables, state };
}

/** Owner columns are rules for people. */
function withoutOwners(table: ModelTable): ModelTable {
  const columns = table.columns.map(({ owner: _, ...column }): ModelColumn => column);
  return { ...table, columns };
}

/** A key of a person that no other test sees. */
export async function mintKey(
  { service, secrets }: TestService,
  app: TestApp,
  { id, role }: Person,
): Promise<string> {
  const key = await mintPersonKey(service.admin, { app: app.id, person: id, role });
  secrets.add(key);
  return key;
}

/** Draws other rules, and pushes them. @returns why the push rejects them */
export async function changeRules(world: World, hasRules = true): Promise<string | undefined> {
  const tables = hasRules ? drawRules(world.random, world.drawn) : world.drawn.tables;
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

export async function pushTables(
  { service, app }: Pick<World, "service" | "app">,
  definition: Definition,
): Promise<void> {
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
