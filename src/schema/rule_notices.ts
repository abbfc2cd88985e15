/** What authors of rules should know: correct rules that reveal more, or cost more, than they seem to. Pure. @module */
import { isPerson, isReference, isText, SQL, VALUES } from "../kinds/mod.ts";
import { listMatches, makeRuleTables, type RuleTables } from "./check_rules.ts";
import type { NamedColumn, TableDefinition } from "./definition.ts";
import { explainAlternative, joinWords } from "./explain_rules.ts";
import {
  type Alternative,
  allowsAll,
  compareTexts,
  fixedFor,
  hiddenFrom,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  rulesOf,
  type TableRules,
} from "./rules.ts";

type Notice = { readonly table: string; readonly message: string };
type Tables = readonly TableDefinition[];

const NOTICES_MAX = 100;

/** A table in a database, with the indexes of every app; its owner adds indexes. */
type StoredTable = { readonly definition: TableDefinition; readonly isOwn: boolean };

/**
 * The notices about the rules of an app's tables; none for an app without rules. Each message is a whole sentence. `find` returns
 * a table of a database; without it, the declared indexes count.
 */
export function listRuleNotices(
  { tables }: { readonly tables: Tables },
  find: (table: string) => StoredTable | undefined = () => undefined,
): Notice[] {
  if (tables.every(({ rules }) => rules === undefined)) return [];
  const all = makeRuleTables(tables);
  const members = listMembers(tables);
  const notices = tables.flatMap((table) =>
    table.rules === undefined
      ? [
          {
            table: table.name,
            message: `${table.name} has no rules: people can neither read nor write its rows`,
          },
        ]
      : [
          ...findMemberships(table, members),
          ...findRevealed(table, table.rules),
          ...findUniques(table, table.rules),
          ...findTextMe(table, table.rules),
          ...findUnreadable(table, table.rules, all),
          ...findUncreatable(table, table.rules, all),
          ...findSetNull(table, table.rules, all),
          ...findUnindexed(table, table.rules, find(table.name)),
        ],
  );
  const texts = new Map(notices.map((notice) => [notice.message, notice]));
  return [...texts.values()].slice(0, NOTICES_MAX);
}

/** The tables whose rules read a table of memberships. */
type Members = ReadonlyMap<string, ReadonlySet<string>>;

function listMembers(tables: Tables): Members {
  const members = new Map<string, Set<string>>();
  for (const table of tables)
    for (const { match } of Object.values(table.rules?.allow ?? {}).flatMap((allowed) =>
      listMatches(table, allowed),
    )) {
      if (!isMemberOf(match)) continue;
      const guarded = members.get(match.memberOf) ?? new Set();
      members.set(match.memberOf, guarded.add(table.name));
    }
  return members;
}

/** Everyone who can write a membership can give access. */
function findMemberships({ name, rules }: TableDefinition, members: Members): Notice[] {
  const guarded = [...(members.get(name) ?? [])];
  const writers = Object.entries(rules?.allow ?? {})
    .filter(([, { create, update }]) => create !== undefined || update !== undefined)
    .map(([role]) => role);
  if (guarded.length === 0 || writers.length === 0) return [];
  const verb = writers.length === 1 ? "writes" : "write";
  return [
    {
      table: name,
      message: `${joinWords(writers, "and")} ${verb} memberships in ${name}, which give access to rows of ${joinWords(guarded, "and")}`,
    },
  ];
}

/** A rule on a column that the role does not see reveals its value by the effect. */
function findRevealed(table: TableDefinition, { allow }: TableRules): Notice[] {
  return Object.entries(allow).flatMap(([role, allowed]) => {
    const hidden = hiddenFrom(table.rules, role);
    return listMatches(table, allowed)
      .filter(({ column }) => hidden.includes(column.name))
      .map(({ column }) => ({
        table: table.name,
        message: `${role} never sees ${table.name}.${column.name}, but a rule of ${role} compares it: its effect reveals the value`,
      }));
  });
}

/** A conflict with a row that the person cannot read reveals that the row exists. */
function findUniques(table: TableDefinition, { allow, owner = [] }: TableRules): Notice[] {
  const singles = table.columns.filter(({ unique }) => unique).map(({ name }) => [name]);
  return [...singles, ...table.uniques]
    .filter((key) => !key.some((column) => owner.includes(column)))
    .flatMap((key) => {
      const roles = Object.entries(allow)
        .filter(([role, { read, create, update }]) => {
          const isWriter = create !== undefined || update !== undefined;
          const isSet = key.some((column) => !listUnset(table, role).includes(column));
          return isWriter && isSet && !allowsAll(read);
        })
        .map(([role]) => role);
      if (roles.length === 0) return [];
      const own =
        owner[0] === undefined
          ? ""
          : `; .unique(${[owner[0], ...key].map((column) => `"${column}"`).join(", ")}) does not`;
      return [
        {
          table: table.name,
          message: `The unique ${key.join(", ")} of ${table.name} reveals to ${joinWords(roles, "and")} that another row has the value, even one that cannot be read${own}`,
        },
      ];
    });
}

function listUnset(table: TableDefinition, role: string): readonly string[] {
  return [...hiddenFrom(table.rules, role), ...fixedFor(table.rules, role)];
}

/** A rule that follows a reference to rows that the role cannot read never matches. */
function findUnreadable(
  table: TableDefinition,
  { allow }: TableRules,
  { byName }: RuleTables,
): Notice[] {
  return Object.entries(allow).flatMap(([role, allowed]) =>
    listMatches(table, allowed).flatMap(({ column, match }) => {
      const target = byName.get(column.table ?? "");
      if (!isReadable(match) || rulesOf(target?.rules, role).read !== undefined) return [];
      return [
        {
          table: table.name,
          message: `A rule of ${role} on ${table.name} requires a readable ${column.name}, but ${role} reads no row of ${column.table}`,
        },
      ];
    }),
  );
}

/** On a text column, "me" is a text like any other. */
function findTextMe(table: TableDefinition, { allow }: TableRules): Notice[] {
  return Object.values(allow)
    .flatMap((allowed) => listMatches(table, allowed))
    .filter(({ column, match }) => isText(column) && [match].flat().includes(ME))
    .map(({ column }) => ({
      table: table.name,
      message: `A rule compares the text ${table.name}.${column.name} with "me": only on a t.uuid() column, "me" is the person`,
    }));
}

/** A new row can only reference rows that the person can read. */
function findUncreatable(
  { name, columns }: TableDefinition,
  { allow }: TableRules,
  { byName }: RuleTables,
): Notice[] {
  const mandatory = columns.filter(({ required, table = "" }) => required && byName.has(table));
  return Object.entries(allow).flatMap(([role, { create }]) =>
    mandatory
      .filter(({ table = "" }) => create && !rulesOf(byName.get(table)?.rules, role).read)
      .map((column) => ({
        table: name,
        message: `${role} can create no row of ${name}: ${column.name} is required, and ${role} reads no row of ${column.table}`,
      })),
  );
}

/** A delete clears references in rows that the person may not change. */
function findSetNull(
  { name }: TableDefinition,
  { allow }: TableRules,
  { references }: RuleTables,
): Notice[] {
  const cleared = (references.get(name) ?? []).filter(
    ({ column }) => column.onDelete === "set null",
  );
  return cleared.flatMap(({ table, column }) => {
    const roles = Object.entries(allow)
      .filter(
        ([role, rules]) =>
          rules.delete !== undefined && !allowsAll(rulesOf(table.rules, role).update?.from),
      )
      .map(([role]) => role);
    if (roles.length === 0) return [];
    return [
      {
        table: name,
        message: `A delete of ${name} by ${joinWords(roles, "or")} clears ${table.name}.${column.name} in all rows that reference the deleted row`,
      },
    ];
  });
}

/**
 * Without an index of a rule, a list also reads the rows that the rule leaves out. An index serves a list if it
 * begins with a column that the rule compares with values.
 */
function findUnindexed(
  table: TableDefinition,
  { allow }: TableRules,
  stored: StoredTable | undefined,
): Notice[] {
  const whole = stored?.definition ?? table;
  const served = Object.entries(allow).flatMap(([role, { read = [] }]) => {
    const hidden = hiddenFrom(table.rules, role);
    const known = new Map(
      [ID, ...table.columns]
        .filter((column) => !hidden.includes(column.name) && isIndexed(column))
        .map((column) => [column.name, column] as const),
    );
    return read
      .filter((alternative) => Object.keys(alternative).length > 0)
      .map((alternative) => ({ alternative, known, searched: listSearched(alternative, known) }));
  });
  const unserved = served.filter(({ known, searched }) => !isServed(whole, { known, searched }));
  const texts = new Map(
    unserved.map((each) => [explainAlternative(table, each.alternative), each.searched]),
  );
  return [...texts].map(([text, searched]) => ({
    table: table.name,
    message: `${explainUnserved(table, searched, { text, isOwn: stored?.isOwn !== false })}; its lists read all rows of the table`,
  }));
}

type Column = Pick<NamedColumn, "name" | "kind">;
const ID: Column = { name: "id", kind: "uuid" };

/** Whether an index can find the rows with a value of the column. */
function isIndexed({ kind }: Column): boolean {
  return VALUES[kind].unindexed === undefined;
}

type Known = ReadonlyMap<string, Column>;

/** The columns that an alternative compares with values by which a list searches an index. */
function listSearched(alternative: Alternative, known: Known): string[] {
  return Object.entries(alternative).flatMap(([name, match]) => {
    const column = known.get(name);
    return column !== undefined && isSearched(column, match) ? [name] : [];
  });
}

function isSearched({ kind }: Column, match: Match): boolean {
  if (isReadable(match)) return false;
  const values: readonly unknown[] = Array.isArray(match) ? match : [match];
  const isWhole = SQL[kind].parts?.isWhole ?? (() => true);
  return values.every((value) => typeof value !== "string" || isWhole(value));
}

/** Whether a list can walk along an index by one of these columns. */
function isServed(
  { columns, indexes, uniques }: TableDefinition,
  { known, searched }: { readonly known: Known; readonly searched: readonly string[] },
): boolean {
  const singles = columns
    .filter((column) => column.index || column.unique || isReference(column))
    .map(({ name }) => [name]);
  return [["id"], ...singles, ...indexes, ...uniques].some((names) => {
    const [first] = names;
    const isKnown = names.every((name) => known.has(name));
    return isKnown && first !== undefined && searched.includes(first);
  });
}

function explainUnserved(
  { name, columns }: TableDefinition,
  searched: readonly string[],
  { text, isOwn }: { readonly text: string; readonly isOwn: boolean },
): string {
  if (searched.length === 0) return `No index can serve the rule "${text}" of ${name}`;
  // The columns with many different values come first: a person, and then the others.
  const namesPerson = (column: string) =>
    columns.some((each) => each.name === column && isPerson(each));
  const names = [...searched]
    .sort((a, b) => Number(namesPerson(b)) - Number(namesPerson(a)) || compareTexts(a, b))
    .slice(0, 3);
  const index = `.index(${[...names, "id"].map((column) => `"${column}"`).join(", ")})`;
  return `No index serves the rule "${text}" of ${name}: ${isOwn ? `add ${index}` : `only the app that owns the table can add ${index}`}`;
}
