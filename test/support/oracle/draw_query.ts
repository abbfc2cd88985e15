/** Random reads of tables: conditions, orders, selections with related rows. Half of the lists are a part of an index, in its order. @module */
import { isSorted, VALUES } from "../../../src/kinds/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../../../src/schema/mod.ts";
import { toQueryParameters } from "../../../src/sdk/query_text.ts";
import { isTrue, pick, type Random } from "../random.ts";
import {
  type Key,
  MAX_DEPTH,
  type Query,
  type Relation,
  type Selection,
  type View,
} from "./answers.ts";
import type { State } from "./rules.ts";
import { DRAW, drawUnique, PATTERNS } from "./values.ts";

/** Who asks: the tables as it reads them, and all rows, whose values are in conditions. */
export type Asker = { readonly random: Random; readonly view: View; readonly state: State };

const ID: NamedColumn = { name: "id", kind: "uuid", required: true, unique: false, index: false };
const NO_ID = "01900000-0000-7000-8000-0000000000fd";
const WAYS = ["asc", "desc"] as const;

/** A value of a row, or another of the kind. */
function drawValue({ random, state }: Asker, table: string, column: NamedColumn): Json {
  const rows = state.get(table) ?? [];
  const stored = rows.length === 0 ? null : (pick(random, rows)[column.name] ?? null);
  if (column.name === "id") return stored ?? NO_ID;
  if (stored !== null && isTrue(random, 2)) return stored;
  return column.unique ? drawUnique(column.kind, random(120), random) : DRAW[column.kind](random);
}

function drawTest(asker: Asker, table: string, column: NamedColumn): Json {
  const { random } = asker;
  // JSON has another text in a browser.
  const operators = isSorted(column) ? [...VALUES[column.kind].operators] : [];
  const more = operators.filter((operator) => operator === "eq" || operator === "gte");
  const op = isTrue(random, 6) ? "is" : pick(random, ["is", ...operators, ...more]);
  const draw = () => drawValue(asker, table, column);
  const values = (): Json =>
    op === "in" ? [draw(), draw()] : op.endsWith("like") ? pick(random, PATTERNS) : draw();
  const test: Json = op === "is" ? { is: null } : { [op]: values() };
  return isTrue(random, 4) ? { not: test } : test;
}

/** In a condition on a referenced row, they would be operators. */
const OPERATOR_NAMES = { eq: true, is: true };

type Depths = { readonly isNested: boolean; readonly references: number; readonly groups: number };

function drawWhere(asker: Asker, name: string, depths: Depths): Json & object {
  const { random, view } = asker;
  const { isNested, references, groups } = depths;
  const columns = view(name).table.columns.filter(({ name: column, table }) => {
    if (isNested && references < MAX_DEPTH && column in OPERATOR_NAMES) return false;
    return !isNested || table === undefined || (references > 0 && view(table).isReadable);
  });
  const chosen =
    columns.length === 0
      ? [ID]
      : Array.from({ length: 1 + random(2) }, () => pick(random, columns));
  const tests = chosen.map((column): [string, Json] => {
    const { table } = column;
    if (!isNested || table === undefined) return [column.name, drawTest(asker, name, column)];
    const inner = { ...depths, references: references - 1, groups: groups - 1 };
    return [column.name, drawWhere(asker, table, inner)];
  });
  const asked = Object.fromEntries(tests);
  if (groups <= 0 || !isTrue(random, 3)) return asked;
  const inner = () => drawWhere(asker, name, { ...depths, groups: groups - 1 });
  return {
    ...asked,
    ...pick<Json & object>(random, [
      { or: [inner(), inner()] },
      { not: inner() },
      { and: [inner()] },
    ]),
  };
}

type Conditions = Pick<Query, "where" | "isNested">;

/** Conditions on columns and, if the table has references, on referenced rows. */
export function drawConditions(asker: Asker, name: string): Conditions {
  const { random, view } = asker;
  const { columns } = view(name).table;
  const isNested = columns.some(({ kind }) => kind === "ref") && isTrue(random, 2);
  if (isTrue(random, 5)) return { where: {}, isNested: false };
  return {
    where: drawWhere(asker, name, { isNested, references: MAX_DEPTH, groups: 2 }),
    isNested,
  };
}

/** Equal values, then a range, then the order of an index. */
function drawWalk(asker: Asker, table: TableDefinition): Pick<Query, "where" | "orderBy"> {
  const { random } = asker;
  const { columns, indexes, uniques } = table;
  const singles = columns.filter(({ index, kind }) => index || kind === "ref");
  const lists = [...indexes, ...uniques, ...singles.map(({ name }) => [name]), ["id"]];
  const named = [...pick(random, lists).filter((name) => name !== "id"), "id"].flatMap(
    (name) => [ID, ...columns].find((column) => column.name === name) ?? [],
  );
  const fixed = random(named.length);
  const next = named[fixed] ?? ID;
  const { operators } = VALUES[next.kind];
  const drawBound = (ops: readonly string[]) =>
    operators.includes("gt")
      ? ops.filter(() => isTrue(random, 3)).map((op) => [op, drawValue(asker, table.name, next)])
      : [];
  const isNull = !next.required && isTrue(random, 6);
  const starts = ["*", "a*", "a\\**", "x*", `${"x".repeat(58)}*`];
  const range: object = isNull
    ? { is: null }
    : Object.fromEntries([
        ...(operators.includes("like") && isTrue(random, 3)
          ? [["like", pick(random, starts)]]
          : []),
        ...drawBound(["gt", "gte"]),
        ...drawBound(["lt", "lte"]),
      ]);
  const present = next.required || isTrue(random, 3) ? {} : { [next.name]: { not: { is: null } } };
  const keys = named.slice(isNull ? fixed + 1 : fixed);
  const way = pick(random, WAYS);
  return {
    where: {
      ...Object.fromEntries(
        named.slice(0, fixed).map((each) => [each.name, drawValue(asker, table.name, each)]),
      ),
      ...(Object.keys(range).length > 0 ? { [next.name]: range } : present),
    },
    orderBy: keys
      .slice(0, isTrue(random, 2) ? 3 : Math.min(3, Math.max(1, keys.length - 1)))
      .map(({ name }) => ({ [name]: way })),
  };
}

export function drawQuery(asker: Asker, name: string): Query {
  const { random, view } = asker;
  const { table } = view(name);
  const select = drawSelect(asker, name);
  const asked = { table: name, isNested: false, count: undefined, select };
  // A response has at most 1000 rows, with related rows.
  const drawLimit = (limits: readonly number[]) =>
    select === undefined || select.related.length === 0 ? pick(random, limits) : 1 + random(6);
  if (isTrue(random, 2))
    return { ...asked, ...drawWalk(asker, table), limit: drawLimit([2, 7, 40]) };
  const { where, isNested } = drawConditions(asker, name);
  const id = () => drawValue(asker, name, ID);
  const byId = isTrue(random, 8)
    ? { id: pick<Json>(random, [{ gt: id() }, { in: [id(), id()] }, id()]) }
    : {};
  return {
    ...asked,
    where: { ...where, ...byId },
    isNested,
    orderBy: drawOrder(random, table),
    limit: drawLimit([7, 40, 1000]),
    // A count reads all matching rows again for each page.
    count: isTrue(random, 3) ? pick(random, ["exact", "estimated"] as const) : undefined,
  };
}

function drawOrder(random: Random, { columns }: TableDefinition): Key[] {
  const sortable = [ID, ...columns.filter(({ kind }) => kind !== "json")];
  const keys = [...new Set(Array.from({ length: random(4) }, () => pick(random, sortable).name))];
  const way = isTrue(random, 2) ? pick(random, WAYS) : undefined;
  return keys.map((name) => ({ [name]: way ?? pick(random, WAYS) }));
}

function drawSelect(asker: Asker, name: string): Selection | undefined {
  const { random, view } = asker;
  const { columns } = view(name).table;
  if (isTrue(random, 4)) return drawSelection(asker, name, 0);
  if (columns.length === 0 || !isTrue(random, 3)) return undefined;
  return { columns: ["id", pick(random, columns).name], related: [] };
}

/** Columns, and rows of references or rows that reference the row, two levels deep. */
function drawSelection(asker: Asker, name: string, depth: number): Selection {
  const { random } = asker;
  const { columns } = asker.view(name).table;
  const listed = listRelations(asker, name).filter(
    () => depth < MAX_DEPTH && isTrue(random, 2 + depth),
  );
  const names = new Set<string>();
  const related = listed
    .filter((relation) => !names.has(relation.name) && names.add(relation.name))
    .slice(0, 3)
    .map((relation): Relation => {
      const { isChild, ...named } = relation;
      const children = isChild ? drawChildren(asker, named) : undefined;
      return { ...named, ...drawSelection(asker, named.table, depth + 1), children };
    });
  const chosen = [ID, ...columns]
    .map((column) => column.name)
    .filter((column) => !names.has(column) && random(3) > 0);
  return { columns: chosen.length + related.length === 0 ? ["id"] : chosen, related };
}

type Relative = Pick<Relation, "name" | "table" | "via">;

function listRelations({ view, state }: Asker, name: string): (Relative & { isChild: boolean })[] {
  const parents = view(name).table.columns.flatMap(({ name: via, table }) =>
    table === undefined ? [] : [{ name: via, table, via, isChild: false }],
  );
  const children = [...state.keys()].flatMap((table) =>
    view(table)
      .table.columns.filter((column) => column.table === name)
      .map(({ name: via }) => ({ name: table, table, via, isChild: true })),
  );
  return [...parents, ...children].filter(({ table }) => view(table).isReadable);
}

/** An index has the order of children. With a later column that can be null, it has it in one direction. */
function drawChildren(
  { random, view }: Asker,
  { table: name, via }: Relative,
): Relation["children"] {
  const { table } = view(name);
  const lists = [...table.indexes, ...table.uniques].filter(([first]) => first === via);
  const keys = pick(random, [
    [],
    ...lists.map((list) => list.slice(1).filter((key) => key !== "id")),
  ]);
  const later = table.columns.filter((column) => keys.slice(1).includes(column.name));
  const way = later.every(({ required }) => required) ? pick(random, WAYS) : "asc";
  const all = keys.length === 0 && way === "desc" ? ["id"] : keys;
  return { limit: random(5), orderBy: all.map((key) => ({ [key]: way })) };
}

/** The request as parameters of a list. */
export function toParameters({ view }: Pick<Asker, "view">, query: Query): URLSearchParams {
  const { table, where, orderBy, select } = query;
  const items = select === undefined ? {} : { select: toItems(view, table, select) };
  const asked = toQueryParameters({ where, orderBy, ...items } as never);
  return new URLSearchParams([...asked, ["limit", `${query.limit}`]]);
}

function toItems(view: View, parent: string, { columns, related }: Selection): unknown[] {
  const relations = related.map((relation) => {
    const { name, table, via, children } = relation;
    const references = view(table).table.columns.filter((column) => column.table === parent);
    const isOnly = children === undefined || references.length === 1;
    const select = toItems(view, table, relation);
    return { [isOnly ? name : `${name}!${via}`]: { select, ...children } };
  });
  return [...columns, ...relations];
}

/** A cursor at any values, as a client can make it. */
export function drawCursor({ random, view }: Asker, { table: name, orderBy }: Query): string {
  const kinds = new Map(view(name).table.columns.map((column) => [column.name, column.kind]));
  const keys = orderBy.flatMap((key) => Object.entries(key));
  const way = keys.at(-1)?.[1] ?? "asc";
  const all = keys.some(([key]) => key === "id") ? keys : [...keys, ["id", way] as const];
  const values = all.map(([key]) => DRAW[kinds.get(key) ?? "uuid"](random));
  const cursor = [all.map((key) => key.join(".")).join(), ...values.map((value) => `${value}`)];
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}
