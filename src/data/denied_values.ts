/**
 * The fields of a body that a rule for people denies, so that a form can mark them. The database has denied the write: this only
 * says why, from the body and the rule, and never from stored rows. Pure.
 *
 * @module
 */
import type { Kind } from "../kinds/mod.ts";
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
  readonly action: "create" | "update" | "upsert";
};

/** The denied fields of a body: of each row of a list. Empty if only stored rows can tell why. */
export function listDenied(body: unknown, write: DeniedWrite): Detail[] {
  if (!Array.isArray(body)) return listOfRow(body, write);
  return body.flatMap((row, index) => listOfRow(row, write).map((detail) => atRow(index, detail)));
}

function listOfRow(row: unknown, write: DeniedWrite): Detail[] {
  if (!isObject(row)) return [];
  const { create, update } = write.view;
  const closed = Object.keys(row).filter((name) => isClosed(name, row, write));
  const toNames = (rule: Rule | undefined, isNew: boolean) =>
    rule === undefined ? [] : findBroken(rule, row, { ...write, isNew });
  const ofNew = () => toNames(create, true);
  const ofChange = () => toNames(update?.to, false);
  const NAMES = {
    create: ofNew,
    update: ofChange,
    // Only the database knows whether the row exists.
    upsert: () => [...ofNew(), ...ofChange()],
  } satisfies Record<DeniedWrite["action"], () => string[]>;
  const names = new Set([...closed, ...NAMES[write.action]()]);
  return [...names].map((name) => ({ path: `/${name}`, message: RULE }));
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
function findBroken(rule: Rule, row: SentRow, of: RuleOf): string[] {
  const alternatives = rule.map((alternative) => compare(alternative, row, of));
  const fewest = Math.min(...alternatives.map(({ broken }) => broken.length));
  return alternatives
    .filter(({ broken }) => broken.length === fewest)
    .flatMap(({ broken, unknown }) => (fewest === 0 ? unknown : broken));
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

const NUMBERS: readonly Kind[] = ["number", "integer", "decimal"];

function isSame(wanted: RuleValue, { kind, value }: Stored, person: string): boolean {
  if (wanted === null || value === null || typeof value === "object") return wanted === value;
  const text = String(value);
  if (kind === "uuid" && wanted === ME) return text.toLowerCase() === person;
  if (!NUMBERS.includes(kind)) return String(wanted) === text;
  const [one, other] = [String(wanted), text].map(decimalParts);
  return JSON.stringify(one) === JSON.stringify(other);
}
