/** Drift: the differences between PostgreSQL and the record of pushes, by name. Repairs nothing. @module */

import { type Database, IS_CONTRACTED_SQL, readValue } from "../../db/mod.ts";
import type { ConsoleTable, FoundTable } from "../../records/console/mod.ts";
import { findConstraint, isNameOf, type RecordedDefinition } from "../catalog/mod.ts";
import { COPY, copyTypeName } from "../sql/conversions.ts";
import { RECORD_SQL } from "../state.ts";
import { type Facts, type Recorded, THERE, toFacts } from "./facts.ts";
import { readSnapshot, withoutDropped } from "./snapshot.ts";

export type Difference = { thing: string; wanted: string; found: string };

export const NOTHING = "nothing";

/** Every difference. For an object that is missing or extra as a whole, omits its parts. */
export function compareFacts(wanted: Facts, found: Facts): Difference[] {
  const paths = [...new Set([...wanted.keys(), ...found.keys()])].sort();
  return paths.flatMap((path) => {
    const [want, have] = [wanted.get(path), found.get(path)].map((value) =>
      toDisplayed(path, value),
    );
    if (wanted.get(path) === found.get(path)) return [];
    if (findParents(path).some((parent) => wanted.has(parent) !== found.has(parent))) return [];
    return [{ thing: path, wanted: want ?? NOTHING, found: have ?? NOTHING }];
  });
}

function findParents(path: string): string[] {
  const parts = path.split(" / ");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(" / "));
}

/** Function bodies are too long to show. */
function toDisplayed(path: string, value: string | undefined): string | undefined {
  if (value === undefined || !path.endsWith(" / body")) return value;
  return `${value.length} characters, ${new Bun.CryptoHasher("sha256").update(value).digest("hex").slice(0, 12)}`;
}

/**
 * The differences in this database. For operators only: they name tables of every app.
 *
 * @throws {Problem} push_busy — a table is locked; the check does not wait for it
 */
export async function readDrift(admin: Database): Promise<Difference[]> {
  const recorded = await readValue<RecordedState>(admin, `select (${RECORDED_SQL})`);
  return findDrift(recorded, await readSnapshot(admin));
}

export const RECORDED_SQL = `select pg_catalog.json_build_object(
      ${RECORD_SQL},
      'isContracted', ${IS_CONTRACTED_SQL},
      'unfinished', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('table', table_name, 'kind', kind, 'name', name)), '[]')
        from rowhouse.deferred_steps where state <> 'done'))`;

export type RecordedState = Recorded & { unfinished: Unfinished[] };

/** Every difference between the record and PostgreSQL, except builds in progress. */
export function findDrift(recorded: RecordedState, found: Facts): Difference[] {
  return compareFinished(recorded, toFacts(recorded, found), found);
}

/** Every difference, except in unfinished builds. */
function compareFinished(
  { unfinished, tables }: Pick<RecordedState, "unfinished" | "tables">,
  wanted: Facts,
  found: Facts,
): Difference[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const tests = unfinished.map((build) => makePathTest(build, byName.get(build.table)));
  const without = (facts: Facts) =>
    new Map([...facts].filter(([path]) => !tests.some((isOfBuild) => isOfBuild(path))));
  return compareFacts(without(wanted), without(found));
}

type Unfinished = { table: string; kind: "index" | "reference"; name: string };

/** Builds in progress appear as deferred steps, not as drift. An index can be built beside its former one. */
function makePathTest(
  { table, kind, name }: Unfinished,
  definition: RecordedDefinition | undefined,
): (path: string) => boolean {
  const start = `table ${table} / ${kind === "index" ? "index" : "constraint"} `;
  const constraint = definition && findConstraint(definition, name);
  return (path) => {
    if (!path.startsWith(start)) return false;
    const found = path.slice(start.length);
    return found === name || (constraint !== undefined && isNameOf(table, constraint, found));
  };
}

const REPORTED = / \/ (?:owner|row security|type|required)$/;
const NAMED = /^table \S+(?: \/ (?:column|constraint|index|policy) \S+)?$/;
/** Parts of which only the name and the state are compared. */
const PART = / \/ (?:constraint|index|policy) \S+$/;

/** Every difference except pending builds. */
export function findTableDifferences({
  name,
  definition,
  found,
  builds,
}: Pick<ConsoleTable, "name" | "definition" | "found" | "builds">): Difference[] {
  if (found === null) return [{ thing: `table ${name}`, wanted: THERE, found: NOTHING }];
  const unfinished = builds.filter(({ state }) => state !== "done");
  const tables = [definition];
  const { dialect, isContracted } = found;
  const facts = toFoundFacts(name, found);
  const recorded = toFacts({ tables, sets: [], isContracted, dialect }, facts);
  return compareFinished({ unfinished, tables }, toComparable(recorded), facts);
}

function toComparable(facts: Facts): Facts {
  return new Map(
    [...facts]
      .filter(([path]) => REPORTED.test(path) || NAMED.test(path) || path.startsWith("type "))
      .map(([path, value]) => [path, PART.test(path) ? THERE : value]),
  );
}

function toFoundFacts(name: string, found: FoundTable): Facts {
  const path = `table ${name}`;
  return new Map([
    [path, THERE],
    [`${path} / owner`, found.owner],
    [`${path} / row security`, found.rowSecurity],
    ...found.columns
      .filter(([column]) => column !== COPY)
      .flatMap(([column, type, isRequired]): [string, string][] => [
        [`${path} / column ${column}`, THERE],
        [`${path} / column ${column} / type`, type],
        [`${path} / column ${column} / required`, isRequired ? "required" : "optional"],
      ]),
    ...Object.entries(found.types)
      .filter(([type]) => type !== copyTypeName(name))
      .map(([type, labels]): [string, string] => [
        `type ${type}`,
        JSON.stringify(withoutDropped(labels)),
      ]),
    ...Object.entries(found.parts).map(([part, state]): [string, string] => [
      `${path} / ${part}`,
      state,
    ]),
  ]);
}
