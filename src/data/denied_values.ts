/**
 * The fields of a body that a rule for people denies, so that a form can mark them. The database has denied the write: this only
 * says why, from the body and the rule, and never from stored rows. Pure.
 *
 * @module
 */
import { isPerson, type Kind, VALUES } from "../kinds/mod.ts";
import type { Detail } from "../problem.ts";
import {
  type Alternative,
  isMemberOf,
  isReadable,
  ME,
  type Rule,
  type RuleValue,
} from "../schema/mod.ts";
import { decimalParts } from "../std/decimal.ts";
import { isObject } from "../std/json.ts";
import type { RecordedTable, View } from "../tables/catalog/mod.ts";
import { atRow } from "./read_row.ts";
import { RULE } from "./violation.ts";

type Table = Pick<RecordedTable["definition"], "columns">;
export type DeniedWrite = {
  readonly table: Table;
  readonly view: View;
  readonly person: string;
  readonly action: "create" | "update" | "upsert" | "only";
};

/**
 * The denied fields of a body. A list has them for each row that is certainly wrong, and for the rows that the database has
 * `reported`. Empty if only stored rows can tell why.
 */
export function listDenied(
  body: unknown,
  { reported = [], ...write }: DeniedWrite & { readonly reported?: readonly Detail[] | undefined },
): Detail[] {
  if (!Array.isArray(body)) return toDetails(findDenied(body, write), { isWrong: true });
  return body.flatMap((row, index) => {
    const own = reported.filter(({ path }) => path.split("/")[1] === String(index));
    const found = toDetails(findDenied(row, write), { isWrong: own.length > 0 });
    return found.length === 0 ? own : found.map((detail) => atRow(index, detail));
  });
}

/** Columns that break a rule whatever is stored, and columns of which only the database knows. */
type Denied = { readonly certain: readonly string[]; readonly possible: readonly string[] };

function toDetails({ certain, possible }: Denied, { isWrong }: { isWrong: boolean }): Detail[] {
  const names = certain.length > 0 || !isWrong ? certain : possible;
  return [...new Set(names)].map((name) => ({ path: `/${name}`, message: RULE }));
}

function findDenied(row: unknown, write: DeniedWrite): Denied {
  if (!isObject(row)) return { certain: [], possible: [] };
  const { create, update } = write.view;
  const closed = Object.keys(row).filter((name) => isClosed(name, row, write));
  const find = (rule: Rule | undefined, isNew: boolean): Denied =>
    rule === undefined ? { certain: [], possible: [] } : findBroken(rule, row, { ...write, isNew });
  const DENIED = {
    create: () => find(create, true),
    update: () => find(update?.to, false),
    only: () => find(update?.to, false),
    // Only the database knows whether the row exists.
    upsert: () => joinDenied(find(create, true), find(update?.to, false)),
  } satisfies Record<DeniedWrite["action"], () => Denied>;
  const { certain, possible } = DENIED[write.action]();
  return { certain: [...closed, ...certain], possible };
}

/** What breaks both rules is certain; what breaks one of them is possible. */
function joinDenied(one: Denied, other: Denied): Denied {
  const certain = [...one.certain, ...other.certain];
  if (one.certain.length > 0 && other.certain.length > 0) return { certain, possible: [] };
  return { certain: [], possible: [...certain, ...one.possible, ...other.possible] };
}

type SentRow = Readonly<Record<string, unknown>>;

/** Whether the row names a column that the person cannot set, or another person as the owner of a new row. */
function isClosed(name: string, row: SentRow, { view, person, action }: DeniedWrite): boolean {
  if (action !== "update" && view.owner.includes(name))
    return !isSame(ME, { kind: "uuid", value: row[name] }, person);
  return view.hidden.includes(name) || view.fixed.includes(name);
}

type RuleOf = DeniedWrite & { readonly isNew: boolean };

/** The columns that break the alternative which the row fulfills best. */
function findBroken(rule: Rule, row: SentRow, of: RuleOf): Denied {
  const alternatives = rule.map((alternative) => compare(alternative, row, of));
  const fewest = Math.min(...alternatives.map(({ broken }) => broken.length));
  const best = alternatives.filter(({ broken }) => broken.length === fewest);
  if (fewest > 0) return { certain: best.flatMap(({ broken }) => broken), possible: [] };
  const isFulfilled = best.some(({ unknown }) => unknown.length === 0);
  return { certain: [], possible: isFulfilled ? [] : best.flatMap(({ unknown }) => unknown) };
}

/** The columns of an alternative that do not match, and those whose match only the database knows. */
function compare(alternative: Alternative, row: SentRow, of: RuleOf) {
  const broken: string[] = [];
  const unknown: string[] = [];
  for (const [name, match] of Object.entries(alternative)) {
    const value = findStored(name, row, of);
    if (value === undefined) continue;
    if (isMemberOf(match) || isReadable(match)) unknown.push(name);
    else if (!toList(match).some((wanted) => isSame(wanted, value, of.person))) broken.push(name);
  }
  return { broken, unknown };
}

type Stored = { readonly kind: Kind; readonly value: unknown };

/** The value that the write stores; `undefined` if it keeps the stored value, or if the person cannot set the column. */
function findStored(
  name: string,
  row: SentRow,
  { table, view, isNew }: RuleOf,
): Stored | undefined {
  const column = table.columns.find((known) => known.name === name);
  if (column === undefined || view.hidden.includes(name) || view.fixed.includes(name))
    return undefined;
  const { kind } = column;
  if (Object.hasOwn(row, name)) return { kind, value: row[name] };
  return isNew ? { kind, value: column.default ?? null } : undefined;
}

function toList(match: RuleValue | readonly RuleValue[]): readonly RuleValue[] {
  return typeof match === "object" && match !== null ? match : [match];
}

function isSame(wanted: RuleValue, { kind, value }: Stored, person: string): boolean {
  if (wanted === null || value === null || typeof value === "object") return wanted === value;
  const text = String(value);
  if (isPerson({ kind }) && wanted === ME) return text.toLowerCase() === person;
  if (VALUES[kind].aggregates?.includes("sum") !== true) return String(wanted) === text;
  const [one, other] = [String(wanted), text].map(decimalParts);
  return JSON.stringify(one) === JSON.stringify(other);
}
