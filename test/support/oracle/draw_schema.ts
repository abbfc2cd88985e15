/**
 * Random tables and rules: teams with members, boxes of teams, items of boxes, notes and things of items. Rules reach the rules of
 * other tables only downwards, so they have no cycle.
 *
 * @module
 */
import { KINDS as ALL_KINDS, type Json, type Kind, QUOTAS } from "../../../src/schema/mod.ts";
import { isTrue, pick, type Random } from "../random.ts";
import type {
  Actions,
  Alternative,
  Change,
  Match,
  ModelColumn,
  ModelTable,
  Rule,
} from "./rules.ts";
import { DRAW, ENUM } from "./values.ts";

export const ROLES = ["r1", "r2", "r3"] as const;
/** Values of each column, so that rules and conditions match many rows. */
export type Pools = ReadonlyMap<string, readonly Json[]>;
export type Drawn = { readonly tables: readonly ModelTable[]; readonly pools: Pools };

/** Names that have a meaning in a query, in SQL or in the body of a function. */
const NAMES = [
  ...["body", "app", "row", "values", "role", "user", "me", "plan", "status", "who", "read", "ids"],
  ...["select", "asc", "from", "true", "t", "n", "a_b", "person_id", "digest", "limit", "claim"],
  ...["order", "offset", "after", "claimId", "eq", "is"],
];
const KINDS: readonly Kind[] = [
  ...(["string", "number", "integer", "decimal", "boolean", "enum"] as const),
  ...(["string", "enum", "boolean", "date", "timestamp", "json", "uuid"] as const),
];

const VALUE_KINDS = ALL_KINDS.filter((kind) => kind !== "ref");
const FEW_VALUES: readonly Kind[] = ["boolean", "enum", "json"];

/** Set by each update. The model does not know its time, so it compares what the service says with what it stored. */
const CHANGED_AT: ModelColumn = {
  ...{ name: "changed_at", kind: "timestamp", required: true, unique: false, index: false },
  ...{ default: "now", onUpdate: "now" },
};

const plain = { required: false, unique: false, index: false };

/** Draws the columns of an app's tables, whose rules are drawn again and again. @param suffix makes the names unique */
export function drawSchema(random: Random, suffix: string): Drawn {
  const name = (base: string) => `${base}_${suffix}`;
  const person = (column: string, more = {}): ModelColumn => ({
    ...{ ...plain, name: column, kind: "uuid", ...more },
  });
  const ref = (column: string, table: string, more = {}): ModelColumn => ({
    ...{ ...plain, name: column, kind: "ref", table: name(table), ...more },
  });
  const extra = (count: number, taken: readonly string[]) => drawColumns(random, count, taken);
  const unique = isTrue(random, 2);
  const extras = extra(4, ["owner", "helper", "team", "box", "peer", "code"]);
  const indexed = extras.filter(({ kind }) => kind !== "json").map((column) => column.name);
  const declared: readonly Omit<ModelTable, "allow">[] = [
    table(name("teams"), [
      { ...plain, name: "kind", kind: "enum", values: ENUM },
      ...extra(1, ["kind"]),
    ]),
    table(
      name("members"),
      [
        person("person", { required: true }),
        ref("team", "teams", { required: true }),
        { ...plain, name: "level", kind: "enum", values: ENUM },
      ],
      [["person", "team"]],
      isTrue(random, 2) ? [["person", "team"]] : [],
    ),
    table(
      name("boxes"),
      [
        person("holder", { required: isTrue(random, 2), owner: isTrue(random, 2) }),
        ref("team", "teams"),
        ...extra(2, ["holder", "team"]),
      ],
      [["holder", "id"]],
    ),
    table(
      name("items"),
      [
        person("owner", { required: true, owner: true }),
        person("helper"),
        ref("team", "teams"),
        ref("box", "boxes", drawDelete(random)),
        ref("peer", "items"),
        { ...plain, name: "code", kind: "string", unique, index: !unique },
        ...(isTrue(random, 2) ? [CHANGED_AT] : []),
        ...extras,
      ],
      [
        ["owner", "id"],
        ["team", "id"],
        ...indexed.slice(0, 1).map((column) => ["owner", column]),
        ...indexed.slice(1, 2).map((column) => [column, "helper"]),
        ...(indexed.slice(2, 4).length === 2 ? [indexed.slice(2, 4)] : []),
      ],
      unique ? [] : [["owner", "code"]],
    ),
    table(name("notes"), [
      ref("item", "items", { required: true, ...drawDelete(random, ["cascade"]) }),
      ref("other", "boxes"),
      ...extra(2, ["item", "other"]),
    ]),
    drawWide(random, name("things"), [
      ref("item", "items", drawDelete(random)),
      ref("team", "teams", { required: isTrue(random, 2) }),
    ]),
  ];
  const pools = new Map(
    declared.flatMap(({ name: of, columns }) =>
      columns.map((column) => [`${of}.${column.name}`, drawPool(random, column)] as const),
    ),
  );
  return { tables: declared.map((each) => ({ ...each, allow: {} })), pools };
}

/** A table of up to nine columns of all kinds, with random indexes. */
export function drawWide(
  random: Random,
  name: string,
  references: readonly ModelColumn[] = [],
): Omit<ModelTable, "allow"> {
  const names = NAMES.filter((each) => references.every((column) => column.name !== each));
  const drawn = new Set(Array.from({ length: 3 + random(6) }, () => pick(random, names)));
  const columns = [...drawn].map((column): ModelColumn => {
    const kind = isTrue(random, 4) ? "string" : pick(random, VALUE_KINDS);
    const values = kind === "enum" ? { values: ENUM } : {};
    const unique = !FEW_VALUES.includes(kind) && isTrue(random, 6);
    const index = kind !== "json" && isTrue(random, 3);
    return { name: column, kind, required: isTrue(random, 2), unique, index, ...values };
  });
  const indexable = columns.filter(({ kind }) => kind !== "json").map((column) => column.name);
  if (indexable.length === 0) return drawWide(random, name, references);
  const draw = (most: number) =>
    Array.from({ length: 1 + random(most) }, () => pick(random, indexable));
  const lists = [
    ...Array.from({ length: random(4) }, () => [...draw(3), ...(isTrue(random, 4) ? [] : ["id"])]),
    // The values of an enum, before a column that can be null.
    ...columns.flatMap(({ name: first, kind }) =>
      kind === "enum" ? [[first, ...draw(1), "id"]] : [],
    ),
    ...references.flatMap((column) => [[column.name, ...draw(2)]]),
  ].map((list) => [...new Set(list)]);
  const indexes = new Map(
    lists.filter(({ length }) => length > 1).map((list) => [list.join("__"), list]),
  );
  // With a column of different values, a list of columns is unique too.
  const single = columns.find(({ unique }) => unique)?.name;
  const other = pick(random, indexable);
  const uniques =
    single === undefined || single === other || isTrue(random, 2) ? [] : [[other, single]];
  const used = columns.filter(({ index, unique }) => index || unique).length + references.length;
  const most = QUOTAS.indexesPerTable - used - uniques.length;
  return table(name, [...references, ...columns], [...indexes.values()].slice(0, most), uniques);
}

function table(
  name: string,
  columns: readonly ModelColumn[],
  indexes: readonly (readonly string[])[] = [],
  uniques: readonly (readonly string[])[] = [],
): Omit<ModelTable, "allow"> {
  return { name, columns, indexes, uniques };
}

function drawDelete(random: Random, of = ["cascade", "set null"]): object {
  return isTrue(random, 2) ? {} : { onDelete: pick(random, of) };
}

function drawColumns(random: Random, count: number, taken: readonly string[]): ModelColumn[] {
  const names = NAMES.filter((name) => !taken.includes(name));
  const drawn = new Set(Array.from({ length: count }, () => pick(random, names)));
  return [...drawn].map((name): ModelColumn => {
    const kind = pick(random, KINDS);
    // The rows of a rule are found along indexes, or among all rows.
    const index = kind !== "json" && isTrue(random, 2);
    const column = { ...plain, name, kind, index, ...(kind === "enum" ? { values: ENUM } : {}) };
    if (kind === "uuid" || kind === "json" || !isTrue(random, 3)) return column;
    // A required column needs a default: a role that cannot set it can create rows.
    const initial = kind === "timestamp" ? "2026-06-01T12:00:00+00:00" : DRAW[kind](random);
    return { ...column, required: true, default: initial } as ModelColumn;
  });
}

function drawPool(random: Random, { kind, required, default: initial }: ModelColumn): Json[] {
  if (kind === "uuid" || kind === "ref") return [];
  // Exactly as the service returns them: the state is read back.
  const times = ["2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.000001+00:00"];
  const draw = () => (kind === "timestamp" ? pick(random, times) : DRAW[kind](random));
  const values = Array.from({ length: 3 }, draw);
  return [
    ...values,
    ...(initial === undefined || initial === "now" ? [] : [initial]),
    ...(required ? [] : [null]),
  ];
}

/** Draws rules for the roles, and which roles see and set the columns. */
export function drawRules(random: Random, { tables, pools }: Drawn): readonly ModelTable[] {
  const drawn: ModelTable[] = [];
  for (const each of tables) {
    const columns = each.columns.map((column) => drawProtection(random, column));
    const allow = Object.fromEntries(
      ROLES.map((role) => [role, drawActions(random, { ...each, columns }, { tables, pools })]),
    );
    drawn.push({ ...each, columns, allow });
  }
  return withoutRejected(drawn);
}

function drawProtection(random: Random, column: ModelColumn): ModelColumn {
  const { only: _, setBy: __, ...bare } = column;
  const isBare = column.required && column.default === undefined;
  if (column.owner || isBare || !isTrue(random, 4)) return bare;
  const roles = ROLES.filter(() => isTrue(random, 2));
  if (roles.length === 0) return bare;
  return isTrue(random, 2) ? { ...bare, only: roles } : { ...bare, setBy: roles };
}

function drawActions(random: Random, of: ModelTable, drawn: Drawn): Actions | "everything" {
  if (isTrue(random, 12)) return "everything";
  if (isTrue(random, 14)) return {};
  const rule = () => drawRule(random, of, drawn);
  const readRule = () => withoutSelf(rule(), of);
  if (isTrue(random, 10)) return { create: rule() };
  const change = (): Change =>
    isTrue(random, 2) ? rule() : { from: rule(), to: isTrue(random, 4) ? true : rule() };
  return {
    read: readRule(),
    ...(isTrue(random, 6) ? {} : { create: isTrue(random, 4) ? true : rule() }),
    ...(isTrue(random, 6) ? {} : { update: isTrue(random, 6) ? true : change() }),
    ...(isTrue(random, 6) ? {} : { delete: isTrue(random, 2) ? true : rule() }),
  };
}

function drawRule(random: Random, of: ModelTable, drawn: Drawn): Rule {
  if (isTrue(random, 6)) return true;
  const alternative = () => drawAlternative(random, of, drawn);
  if (isTrue(random, 3)) return alternative();
  return Array.from({ length: 1 + random(3) }, alternative);
}

function drawAlternative(random: Random, of: ModelTable, drawn: Drawn): Alternative {
  const possible = of.columns.filter(({ kind }) => !["json", "date", "timestamp"].includes(kind));
  const chosen = Array.from({ length: 1 + random(2) }, () => pick(random, possible));
  return Object.fromEntries(
    chosen.map((column) => [column.name, drawMatch(random, { of, column, drawn })]),
  );
}

function drawMatch(
  random: Random,
  { of, column, drawn }: { of: ModelTable; column: ModelColumn; drawn: Drawn },
): Match {
  if (!column.required && isTrue(random, 6)) return null;
  if (column.kind === "uuid") return "me";
  if (column.kind === "ref") return drawReference(random, { column, drawn });
  const pool = (drawn.pools.get(`${of.name}.${column.name}`) ?? []).filter(
    (value) => value !== null,
  );
  if (isTrue(random, 3)) return [...new Set([pick(random, pool), pick(random, pool)])];
  return pick(random, pool);
}

function drawReference(
  random: Random,
  { column, drawn }: { column: ModelColumn; drawn: Drawn },
): Match {
  const [teams, members] = drawn.tables.map(({ name }) => name);
  if (column.table === teams && isTrue(random, 2)) {
    const level = drawn.pools.get(`${members}.level`)?.filter((value) => value !== null) ?? [];
    const where = isTrue(random, 3) ? { level: pick(random, level) } : undefined;
    return { memberOf: members ?? "", ...(where === undefined ? {} : { where }) };
  }
  return { readable: true };
}

/** Rules for reading that follow a reference within a table would be a cycle. */
function withoutSelf(rule: Rule, { name, columns }: ModelTable): Rule {
  if (rule === true) return rule;
  const own = new Set(columns.filter((column) => column.table === name).map((each) => each.name));
  const alternatives = (Array.isArray(rule) ? rule : [rule]) as readonly Alternative[];
  return alternatives.map((alternative) =>
    Object.fromEntries(
      Object.entries(alternative).map(([column, match]) => [
        column,
        own.has(column) ? null : match,
      ]),
    ),
  );
}

/** Without the deletes that a push rejects: those that cascade into rows that the role must not delete. */
function withoutRejected(tables: readonly ModelTable[]): readonly ModelTable[] {
  const left = tables.map((table) => ({
    ...table,
    allow: Object.fromEntries(
      Object.entries(table.allow).map(([role, actions]) => [
        role,
        mayCascade(tables, table.name, role) ? actions : withoutDelete(actions),
      ]),
    ),
  }));
  const isSame = JSON.stringify(left) === JSON.stringify(tables);
  return isSame ? tables : withoutRejected(left);
}

function mayCascade(tables: readonly ModelTable[], name: string, role: string): boolean {
  return tables.every(({ columns, allow }) =>
    columns
      .filter((column) => column.table === name && column.onDelete === "cascade")
      .every((column) => {
        const actions = allow[role] ?? {};
        if (actions === "everything") return true;
        if (actions.delete !== true) return false;
        const { read } = actions;
        const alternatives = (Array.isArray(read) ? read : [read]) as readonly unknown[];
        const inherits = JSON.stringify({ [column.name]: { readable: true } });
        return read === true || alternatives.some((each) => JSON.stringify(each) === inherits);
      }),
  );
}

function withoutDelete(actions: Actions | "everything"): Actions | "everything" {
  if (actions === "everything") return { read: true, create: true, update: true };
  const { delete: _, ...others } = actions;
  return others;
}
