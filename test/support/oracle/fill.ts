/** Rows of all tables, created by the app's server: values that rules match, and values at the edges of their kinds. @module */
import type { Json } from "../../../src/schema/mod.ts";
import { isTrue, pick, type Random } from "../random.ts";
import type { Pools } from "./draw_schema.ts";
import type { ModelColumn, ModelTable, Row, State } from "./rules.ts";
import { DRAW, drawUnique } from "./values.ts";
import { pathOf, type World } from "./world.ts";
import { type Body, findConflicts, withRows } from "./writes.ts";

/** Rows per table, by the start of its name. */
export type Sizes = Readonly<Record<string, number>>;
export const FEW_ROWS: Sizes = { teams: 4, members: 5, boxes: 9, items: 24, notes: 16, things: 16 };

export type Filled = Pick<World, "service" | "app" | "tables" | "state"> & {
  readonly random: Random;
  readonly pools: Pools;
  /** The ids of people in the rows. */
  readonly people: readonly string[];
};

export function toFilled({ drawn, callers, ...world }: World): Filled {
  return { ...world, pools: drawn.pools, people: callers.map(({ id }) => id) };
}

/** Creates rows up to the sizes. @returns the state with them */
export async function fill(filled: Filled, sizes: Sizes): Promise<State> {
  let { state } = filled;
  for (const table of filled.tables) {
    const size = sizes[table.name.split("_")[0] ?? ""] ?? 0;
    // Rows can reference the rows of an earlier request.
    for (let round = 0; round < 4; round++) {
      const had = state.get(table.name)?.length ?? 0;
      const count = Math.ceil((size - had) / (4 - round));
      if (count > 0) state = await create({ ...filled, state }, table, count);
    }
  }
  return state;
}

const ROWS_AT_ONCE = 100;

/** Creates rows that no rule and no unique constraint rejects. */
export async function create(filled: Filled, table: ModelTable, count: number): Promise<State> {
  const { service, app, state } = filled;
  const had = state.get(table.name)?.length ?? 0;
  let next = state;
  const bodies: Body[] = [];
  for (let n = 0; n < count; n++) {
    const body = drawBody(filled, table, had + n);
    const row: Row = { ...body, id: `~${n}` };
    if (findConflicts({ state: next }, table, row).length > 0) continue;
    next = withRows(next, table.name, [row]);
    bodies.push(body);
  }
  if (bodies.length === 0) return state;
  const rows: Row[] = [];
  // A body has at most 100 KB.
  for (let first = 0; first < bodies.length; first += ROWS_AT_ONCE) {
    const json = bodies.slice(first, first + ROWS_AT_ONCE);
    const created = await service.call(app, pathOf(table.name), { method: "POST", json });
    if (created.status !== 201) throw new Error(`${created.text} for ${JSON.stringify(json)}`);
    rows.push(...(created.json as { rows: Row[] }).rows);
  }
  return withRows(state, table.name, rows);
}

export function drawBody(filled: Filled, table: ModelTable, n: number): Body {
  const columns = table.columns.filter(({ onUpdate }) => onUpdate === undefined);
  return Object.fromEntries(
    columns.map((column) => [column.name, drawCell(filled, { table: table.name, column, n })]),
  );
}

function drawCell(
  { random, pools, people, state }: Filled,
  { table, column, n }: { table: string; column: ModelColumn; n: number },
): Json {
  const { kind, name, required, unique } = column;
  if (!required && isTrue(random, 4)) return null;
  if (kind === "ref") {
    const rows = state.get(column.table ?? "") ?? [];
    // Half of the references are to few rows.
    const few = isTrue(random, 2) ? rows.slice(0, 3) : rows;
    return few.length === 0 ? null : pick(random, few).id;
  }
  if (kind === "uuid" && !unique) return pick(random, people);
  const pool = pools.get(`${table}.${name}`) ?? [];
  if (pool.length > 0 && isTrue(random, 2)) return pick(random, pool);
  return unique ? drawUnique(kind, n, random) : DRAW[kind](random);
}
