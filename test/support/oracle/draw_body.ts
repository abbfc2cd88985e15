/** Random bodies of writes: mostly what the person may write, sometimes one part that it may not. @module */
import type { Json } from "../../../src/schema/mod.ts";
import { pick } from "../random.ts";
import type { Turn } from "./play.ts";
import {
  type Alternative,
  actionsOf,
  isFixed,
  isMemberOf,
  isOwn,
  isReadable,
  type ModelColumn,
  type Rule,
  tableOf,
  toOf,
  visibleRows,
} from "./rules.ts";
import type { Body } from "./writes.ts";

const MISSING = "01900000-0000-7000-8000-0000000000ff";

/** A body of a create. Half of them follow an alternative of the rule. */
export function drawNew(turn: Turn): Body {
  const { world, table, sight } = turn;
  const members = table.columns.flatMap((column): [string, Json][] => {
    const isNeeded = column.required && column.default === undefined && !isOwn(sight, column);
    if (!isNeeded && world.random(3) === 0) return [];
    if (avoids(turn, column)) return [];
    return [[column.name, drawValue(turn, column)]];
  });
  const drawn = Object.fromEntries(members);
  return follow(turn, drawn, actionsOf(sight, table).create);
}

/** A body of an update, sometimes without columns. */
export function drawChange(turn: Turn): Body {
  const { world, table, sight } = turn;
  if (world.random(15) === 0) return {};
  const members = table.columns.flatMap((column): [string, Json][] => {
    if (world.random(3) > 0 || avoids(turn, column)) return [];
    const value = drawValue(turn, column);
    // Whether an owner column may be sent unchanged is a question of the create only.
    if (isOwn(sight, column) && value === sight.person.id) return [];
    return [[column.name, value]];
  });
  return follow(turn, Object.fromEntries(members), toOf(actionsOf(sight, table).update));
}

/** Columns that the person cannot set are mostly omitted. */
function avoids({ world, sight }: Turn, column: ModelColumn): boolean {
  return (isFixed(sight, column) || isOwn(sight, column)) && world.random(12) > 0;
}

export function drawValue(turn: Turn, column: ModelColumn): Json {
  const { world, table } = turn;
  const { random } = world;
  if (column.kind === "uuid") {
    const ids = world.callers.map(({ id }) => id);
    return !column.required && random(5) === 0 ? null : pick(random, ids);
  }
  if (column.kind === "ref") return drawReference(turn, column);
  const pool = world.drawn.pools.get(`${table.name}.${column.name}`) ?? [];
  return pick(random, pool);
}

/** Mostly a row that the person sees, sometimes another, rarely a missing one. */
function drawReference({ world, sight }: Turn, column: ModelColumn): Json {
  const { random } = world;
  if (!column.required && random(4) === 0) return null;
  const target = tableOf(sight, column.table ?? "");
  const all = world.state.get(target.name) ?? [];
  const seen = visibleRows(sight, target);
  if (random(20) === 0 || all.length === 0) return MISSING;
  if (seen.length === 0 || random(6) === 0) return pick(random, all).id;
  return pick(random, seen).id;
}

/** The body with the values of an alternative of the rule, if a body can have them. */
function follow(turn: Turn, body: Body, rule: Rule | undefined): Body {
  const { world, table, sight } = turn;
  if (rule === undefined || rule === true || world.random(3) === 0) return body;
  const alternatives = (Array.isArray(rule) ? rule : [rule]) as readonly Alternative[];
  const alternative = pick(world.random, alternatives);
  const members = Object.entries(alternative).flatMap(([name, match]): [string, Json][] => {
    const column = table.columns.find((each) => each.name === name);
    if (column === undefined || isFixed(sight, column) || isOwn(sight, column)) return [];
    if (isMemberOf(match) || isReadable(match)) return [[name, drawReference(turn, column)]];
    if (column.kind === "uuid") return [[name, match === null ? null : sight.person.id]];
    const values = (Array.isArray(match) ? match : [match]) as readonly Json[];
    return [[name, pick(world.random, values)]];
  });
  return { ...body, ...Object.fromEntries(members) };
}
