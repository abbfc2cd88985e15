/**
 * The differences of one table from its record, for a page that must not wait for the table's lock: excludes parts that
 * need PostgreSQL's printed expressions, such as defaults and the rows of an index. Pure.
 *
 * @module
 */
import type { ConsoleTable, FoundTable } from "../../records/console/mod.ts";
import { COPY, copyTypeName } from "../sql/conversions.ts";
import { compareFinished, type Difference, NOTHING } from "./drift.ts";
import { type Facts, THERE, toFacts } from "./facts.ts";
import { withoutDropped } from "./snapshot.ts";

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
  const recorded = toFacts({ tables: [definition], sets: [], dialect: "plain", previews: [] });
  return compareFinished(unfinished, toComparable(recorded), toFoundFacts(name, found));
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
