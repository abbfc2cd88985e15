/**
 * Rules as an author writes them, and a naive evaluator: who sees a row, and what a change may be. Reads rows in memory, one by one,
 * and shares no code with the compiler of rules.
 *
 * @module
 */
import type { Json, NamedColumn } from "../../../src/schema/mod.ts";

export type Row = { readonly [column: string]: Json } & { readonly id: string };
export type MemberOf = { readonly memberOf: string; readonly where?: Alternative };
export type Match = Json | MemberOf | { readonly readable: true };
export type Alternative = { readonly [column: string]: Match };
export type Rule = true | Alternative | readonly Alternative[];
export type Change = Rule | { readonly from: Rule; readonly to: Rule };
export type Actions = {
  readonly read?: Rule;
  readonly create?: Rule;
  readonly update?: Change;
  readonly delete?: Rule;
};
export type Action = keyof Actions;

export type ModelColumn = NamedColumn & {
  readonly owner?: boolean;
  readonly only?: readonly string[];
  readonly setBy?: readonly string[];
};
export type ModelTable = {
  readonly name: string;
  readonly columns: readonly ModelColumn[];
  readonly indexes: readonly (readonly string[])[];
  readonly uniques: readonly (readonly string[])[];
  readonly allow: Readonly<Record<string, Actions | "everything">>;
};
/** The rows of each table, in the order of their ids. */
export type State = ReadonlyMap<string, readonly Row[]>;
/** A person, or the app's own server with the role `SERVER`. */
export type Person = { readonly id: string; readonly role: string };

/** What one person may do with the rows of a state. */
export type Sight = {
  readonly person: Person;
  readonly tables: readonly ModelTable[];
  readonly state: State;
};

export const SERVER = "server";
const EVERYTHING: Actions = { read: true, create: true, update: true, delete: true };

export function tableOf({ tables }: Pick<Sight, "tables">, name: string): ModelTable {
  const table = tables.find((each) => each.name === name);
  if (table === undefined) throw new Error(`The model has no table ${name}`);
  return table;
}

export function actionsOf({ person }: Pick<Sight, "person">, table: ModelTable): Actions {
  const actions = isServer({ person }) ? "everything" : (table.allow[person.role] ?? {});
  return actions === "everything" ? EVERYTHING : actions;
}

export function isServer({ person }: Pick<Sight, "person">): boolean {
  return person.role === SERVER;
}

export function fromOf(change: Change | undefined): Rule | undefined {
  return isFromTo(change) ? change.from : change;
}

export function toOf(change: Change | undefined): Rule | undefined {
  return isFromTo(change) ? change.to : change;
}

function isFromTo(change: Change | undefined): change is { from: Rule; to: Rule } {
  return isObject(change) && "from" in change && "to" in change;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isMemberOf(match: Match): match is MemberOf {
  return isObject(match) && "memberOf" in match;
}

export function isReadable(match: Match): match is { readonly readable: true } {
  return isObject(match) && "readable" in match;
}

/** Whether the person reads a row. */
export function sees(sight: Sight, table: ModelTable, row: Row): boolean {
  return isAllowed(sight, table, { row, rule: actionsOf(sight, table).read });
}

/** Whether a row is one that a rule allows. A missing rule allows none. */
export function isAllowed(
  sight: Sight,
  table: ModelTable,
  { row, rule }: { row: Row; rule: Rule | undefined },
): boolean {
  if (rule === undefined) return false;
  if (rule === true) return true;
  const alternatives = Array.isArray(rule) ? rule : [rule as Alternative];
  return alternatives.some((alternative) => fits(sight, table, { row, alternative }));
}

function fits(
  sight: Sight,
  table: ModelTable,
  { row, alternative }: { row: Row; alternative: Alternative },
): boolean {
  return Object.entries(alternative).every(([name, match]) => {
    const column = columnOf(table, name);
    const value = row[name] ?? null;
    if (isMemberOf(match)) return value !== null && isMember(sight, { match, column, value });
    if (isReadable(match)) {
      const target = tableOf(sight, column.table ?? "");
      return (sight.state.get(target.name) ?? []).some(
        (other) => other.id === value && sees(sight, target, other),
      );
    }
    if (match === null) return value === null;
    if (value === null) return false;
    if (column.kind === "uuid") return match === "me" && value === sight.person.id;
    const values = Array.isArray(match) ? match : [match];
    return values.some((wanted) => isSame(column, value, wanted));
  });
}

/** Whether the person has a membership with the same reference. Memberships are read without the rules of their table. */
function isMember(
  sight: Sight,
  { match, column, value }: { match: MemberOf; column: NamedColumn; value: Json },
): boolean {
  const table = tableOf(sight, match.memberOf);
  const person = table.columns.find(({ kind }) => kind === "uuid")?.name ?? "";
  const ref = table.columns.find((each) => each.kind === "ref" && each.table === column.table);
  return (sight.state.get(table.name) ?? []).some(
    (row) =>
      row[person] === sight.person.id &&
      row[ref?.name ?? ""] === value &&
      (match.where === undefined || fits(sight, table, { row, alternative: match.where })),
  );
}

const ID: ModelColumn = { name: "id", kind: "uuid", required: true, unique: true, index: false };

export function columnOf(table: ModelTable, name: string): ModelColumn {
  const column = [ID, ...table.columns].find((each) => each.name === name);
  if (column === undefined) throw new Error(`${table.name} has no column ${name}`);
  return column;
}

/** Whether values are equal for PostgreSQL: "1.5" is the decimal "1.50". */
export function isSame({ kind }: Pick<NamedColumn, "kind">, a: Json, b: Json): boolean {
  if (a === null || b === null) return a === b;
  if (kind === "decimal") return normalize(`${a}`) === normalize(`${b}`);
  if (kind === "number") return Number(a) === Number(b);
  if (kind === "timestamp") return toMicros(`${a}`) === toMicros(`${b}`);
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The microseconds since 1970 that PostgreSQL stores: a half is rounded to the even number. */
function toMicros(text: string): bigint {
  const nanos = Number((/\.(\d+)/.exec(text)?.[1] ?? "").padEnd(9, "0").slice(0, 9));
  const rest = nanos % 1000;
  const whole = (nanos - rest) / 1000;
  const isUp = rest > 500 || (rest === 500 && whole % 2 === 1);
  return BigInt(Date.parse(text.replace(/\.\d+/, ""))) * 1000n + BigInt(whole + (isUp ? 1 : 0));
}

function normalize(text: string): string {
  const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = whole.replace(/^0+(?=\d)/, "");
  const rest = fraction.replace(/0+$/, "");
  if (digits === "0" && rest === "") return "0";
  return `${sign}${digits}${rest === "" ? "" : `.${rest}`}`;
}

/** Columns that the role neither reads nor writes. */
export function isHidden({ person }: Pick<Sight, "person">, column: ModelColumn): boolean {
  return column.only !== undefined && !isServer({ person }) && !column.only.includes(person.role);
}

/** Whether the caller is the value of an owner column. */
export function isOwn(sight: Pick<Sight, "person">, column: ModelColumn): boolean {
  return column.owner === true && !isServer(sight);
}

/** Columns that the role cannot set; owner columns count only if they get another value. */
export function isFixed(sight: Pick<Sight, "person">, column: ModelColumn): boolean {
  if (isHidden(sight, column)) return true;
  return (
    column.setBy !== undefined && !isServer(sight) && !column.setBy.includes(sight.person.role)
  );
}

export function visibleColumns(sight: Pick<Sight, "person">, table: ModelTable): ModelColumn[] {
  return table.columns.filter((column) => !isHidden(sight, column));
}

export function visibleRows(sight: Sight, table: ModelTable): Row[] {
  return (sight.state.get(table.name) ?? []).filter((row) => sees(sight, table, row));
}

/** The row as the person reads it. */
export function project(sight: Pick<Sight, "person">, table: ModelTable, row: Row): Row {
  const names = ["id", "app_id", ...visibleColumns(sight, table).map(({ name }) => name)];
  const members = names.map((name): [string, Json] => [name, row[name] ?? null]);
  return { ...Object.fromEntries(members), id: row.id };
}
