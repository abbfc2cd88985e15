/** The parts of every comparison: a caller, a table, and the difference between a response and the model. @module */
import type { Json, NamedColumn, TableDefinition } from "../../../src/schema/mod.ts";
import { pick } from "../random.ts";
import type { TestResponse } from "../service.ts";
import type { Seen, View } from "./answers.ts";
import type { Asker } from "./draw_query.ts";
import {
  actionsOf,
  isHidden,
  type ModelTable,
  project,
  type Row,
  type Sight,
  type State,
  tableOf,
  visibleColumns,
  visibleRows,
} from "./rules.ts";
import { type Caller, differ, readState, sightOf, type World } from "./world.ts";
import { CONFLICT, FORBIDDEN, INVALID, NOT_FOUND, UNMATCHED } from "./writes.ts";

/** A request by a person to a table. */
export type Turn = {
  readonly world: World;
  readonly caller: Caller;
  readonly table: ModelTable;
  readonly sight: Sight;
  /** The rows of the table, seen or not. */
  readonly rows: readonly Row[];
};

export function drawTurn(world: World): Turn {
  const caller = pick(world.random, world.callers);
  const table = pick(world.random, [...world.tables, ...world.tables.slice(2)]);
  return toTurn(world, caller, table);
}

export function toTurn(world: World, caller: Caller, table: ModelTable): Turn {
  const rows = world.state.get(table.name) ?? [];
  return { world, caller, table, sight: sightOf(world, caller), rows };
}

/** The tables as the caller reads them. A table that the role does not read is as one that the app does not have. */
export function viewOf(sight: Sight): View {
  const seen = new Map<string, Seen>();
  const read = (name: string): Seen => {
    const table = tableOf(sight, name);
    const isReadable = actionsOf(sight, table).read !== undefined;
    const rows = visibleOf(sight, table).map((row) => project(sight, table, row));
    const byId = new Map(rows.map((row) => [row.id, row]));
    return { table: visibleTable(sight, table), rows, byId, isReadable };
  };
  return (name) => {
    const found = seen.get(name) ?? read(name);
    seen.set(name, found);
    return found;
  };
}

/** The table as the role sees it. */
function visibleTable(sight: Sight, table: ModelTable): TableDefinition {
  const columns = visibleColumns(sight, table).map(
    ({ name, kind, required, index, unique, table: target, values }): NamedColumn => ({
      ...{ name, kind, required, index, unique },
      ...(target === undefined ? {} : { table: target }),
      ...(values === undefined ? {} : { values }),
    }),
  );
  const names = new Set(["id", ...columns.map(({ name }) => name)]);
  const [indexes, uniques] = [table.indexes, table.uniques].map((lists) =>
    lists.filter((list) => list.every((name) => names.has(name))),
  );
  return { name: table.name, columns, indexes: indexes ?? [], uniques: uniques ?? [] };
}

export function askerOf({ world, sight }: Pick<Turn, "world" | "sight">): Asker {
  return { random: world.random, view: viewOf(sight), state: sight.state };
}

/** Without what depends on the app. */
export function withoutApp(json: unknown): unknown {
  const { app_id: _, ...rest } = Object(json) as Record<string, unknown>;
  return rest;
}

/** Codes of rejections for a reason of the model. */
const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ["invalid_query", "too_many_groups"],
  [FORBIDDEN]: ["forbidden"],
  [NOT_FOUND]: ["not_found"],
  [CONFLICT]: ["unique_violation", "still_referenced"],
  [UNMATCHED]: ["precondition_failed"],
  [INVALID]: ["validation_failed"],
};

export class Difference extends Error {}

/** @throws {Difference} */
export function fail(turn: Turn, request: unknown, message: string): never {
  const { caller, table } = turn;
  const rules = table.allow[caller.role];
  const columns = table.columns.map(({ name, kind, only, setBy, owner }) => ({
    ...{ name, kind, only, setBy, owner },
  }));
  throw new Difference(
    `${message}\n  ${JSON.stringify(request)}\n  by ${caller.role} ${caller.id} of ${table.name}: ${JSON.stringify(rules)}\n  ${JSON.stringify(columns)}`,
  );
}

type Wanted = {
  readonly response: TestResponse;
  readonly reasons: readonly number[];
  readonly ok: number;
  /** Whether the request may succeed in spite of the reasons. */
  readonly mayPass?: boolean;
  /** Codes of limits that may reject the request. */
  readonly limits?: readonly string[];
};

/**
 * Compares the status with the reasons of the model. A request without a reason must succeed.
 *
 * @returns whether it succeeded
 */
export function checkStatus(
  turn: Turn,
  request: unknown,
  { response, reasons, ok, mayPass = false, limits = [] }: Wanted,
): boolean {
  const { status, json, text } = response;
  checkSecrets(turn, request, response);
  const { error = "" } = Object(json) as { error?: string };
  if (status === 400 && limits.includes(error)) {
    turn.world.counts.limited++;
    return false;
  }
  if (reasons.length === 0) {
    if (status !== ok) fail(turn, request, `Got ${status} ${text}, expected ${ok}`);
    return true;
  }
  if (mayPass && status === ok) return true;
  if (!reasons.includes(status))
    fail(turn, request, `Got ${status} ${text}, expected ${[...new Set(reasons)].join(" or ")}`);
  if (!CODES[status]?.includes(error)) fail(turn, request, `Got the code ${error} for ${status}`);
  return false;
}

/** No response names a column that the role does not see, unless the request does. */
function checkSecrets(
  { table, caller }: Turn,
  request: unknown,
  { text, json }: TestResponse,
): void {
  const hidden = table.columns.filter((column) => isHidden({ person: caller }, column));
  const { details } = Object(json) as { details?: unknown };
  const sent = JSON.stringify(request);
  const shown = `${details === undefined ? "" : JSON.stringify(details)}`;
  for (const { name } of hidden)
    if (shown.includes(`/${name}"`) && !sent.includes(name))
      throw new Difference(`A response names the hidden column ${name}: ${text}`);
}

export function checkSame(turn: Turn, request: unknown, found: unknown, wanted: unknown): void {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(sortKeys(value as Json)));
  if (a !== b) fail(turn, request, `Got ${a}, expected ${b}`);
}

/** With the members of objects in one order. */
function sortKeys(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((each) => sortKeys(each) ?? null);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, of]) => [key, sortKeys(of) ?? null] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Compares a written row in a response: the row as the person reads it, or only its id.
 *
 * @param sawBefore whether the person read it before other writes of the same moment; default: as after them
 */
export function checkWritten(
  turn: Turn,
  request: unknown,
  found: unknown,
  row: Row,
  sawBefore?: boolean,
): void {
  const { sight, table, world } = turn;
  const after = sightOf(world, sight.person);
  const isSeen = (after.state.get(table.name) ?? []).some((each) => each.id === row.id);
  if (!isSeen) fail(turn, request, `The row ${row.id} was not written`);
  const visible = seesNow(turn, row.id);
  const stored = (after.state.get(table.name) ?? []).find((each) => each.id === row.id) ?? row;
  const short = { id: row.id, app_id: world.app.id };
  const isShort = Object.keys(Object(found)).length === Object.keys(short).length;
  const isEither = sawBefore !== undefined && sawBefore !== visible;
  const wanted = (isEither ? !isShort : visible) ? project(sight, table, stored) : short;
  checkSame(turn, request, found, wanted);
}

function seesNow({ world, caller, table }: Turn, id: string): boolean {
  return visibleIds(sightOf(world, caller), table).has(id);
}

export function visibleIds(sight: Sight, table: ModelTable): ReadonlySet<string> {
  return new Set(visibleOf(sight, table).map(({ id }) => id));
}

export function visibleOf(sight: Sight, table: ModelTable): readonly Row[] {
  return actionsOf(sight, table).read === undefined ? [] : visibleRows(sight, table);
}

/** Reads all rows again, and compares them with the model's. Call it after every write. */
export async function settle(turn: Turn, request: unknown, wanted: State): Promise<void> {
  const { world } = turn;
  const found = await readState(world);
  const difference = differ(world.tables, found, wanted);
  world.state = found;
  if (difference !== undefined) fail(turn, request, difference);
}
