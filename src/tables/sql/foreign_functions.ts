/**
 * Finds functions of apps' tables that are not this release's output.
 *
 * @module
 */
import * as v from "valibot";
import { KINDS, SQL } from "../../kinds/mod.ts";
import { readDefinition } from "../../schema/mod.ts";
import type { GiveWay } from "../../std/give_way.ts";
import { canonicalJson } from "../../std/json.ts";
import {
  type ColumnSet,
  type FunctionSite,
  functionsOfSet,
  listViewSets,
  printedSignature,
  type ServedSet,
  serveSet,
  type TableUse,
  toColumnSet,
} from "../catalog/mod.ts";
import { readRecorded, readRegistered } from "../stored_definitions.ts";
import { renderBody } from "./functions/functions.ts";
import { digestOf } from "./release.ts";
import type { StoredTable, StoredTables } from "./verified_tables.ts";

/** The digests of bodies, by signature. */
export type Bodies = ReadonlyMap<string, string>;
/** The bodies that this release generates for a set. */
export type Generate = (set: ServedSet) => Promise<Bodies>;

/** Generates the functions of a set once: with many tables this is most of the work. */
export function makeGenerate(site: FunctionSite, giveWay: GiveWay): Generate {
  const generated = new Map<string, Promise<Bodies>>();
  const generate = async (set: ServedSet) => {
    const digests = new Map<string, string>();
    for (const name of functionsOfSet(set, site)) {
      digests.set(printedSignature(set, name), digestOf(renderBody(set, name, site)));
      await giveWay();
    }
    return digests;
  };
  return (set) => {
    const key = canonicalJson(set);
    const bodies = generated.get(key) ?? generate(set);
    generated.set(key, bodies);
    return bodies;
  };
}

/** The signatures of the foreign functions of each table. */
export async function findForeign(
  { tables, uses }: StoredTables,
  generate: Generate,
  giveWay: GiveWay,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const views = await readViewSets(uses, giveWay);
  const foreign = new Map<string, string[]>();
  for (const { name, definition, sets, functions } of tables) {
    const wanted = new Map<string, string>();
    for (const set of [...sets.flatMap(readColumnSet), ...(views.get(name) ?? [])])
      for (const body of await generate(toServedSet(set, definition))) wanted.set(...body);
    const found = functions.filter(({ signature, digest }) => wanted.get(signature) !== digest);
    foreign.set(
      name,
      found.map(({ signature }) => signature),
    );
    await giveWay();
  }
  return foreign;
}

const StoredSet = v.strictObject({
  name: v.string(),
  columns: v.array(
    v.strictObject({
      name: v.string(),
      kind: v.picklist(KINDS),
      default: v.optional(v.unknown()),
      onUpdate: v.exactOptional(v.literal("now")),
    }),
  ),
});

/**
 * Returns the column set if a push can have recorded it. The pushing login can store any other JSON, and bodies generated
 * from that would not be this release's output.
 */
function readColumnSet(stored: unknown): ColumnSet[] {
  const { success, output } = v.safeParse(StoredSet, stored);
  if (!success) return [];
  const { name } = output;
  const columns = output.columns.map((column) => ({
    ...{ required: false, unique: false, index: false },
    ...column,
    ...SQL[column.kind].placeholders?.(name, column.default),
  }));
  const table = { name, columns, indexes: [], uniques: [] };
  const reading = readDefinition({ version: 1, tables: [table] });
  return "issues" in reading ? [] : reading.definition.tables.map(toColumnSet);
}

/** The views by table, of the apps whose tables pushes can have recorded; other apps have no views. */
async function readViewSets(
  uses: readonly TableUse[],
  giveWay: GiveWay,
): Promise<Map<string, ColumnSet[]>> {
  const views: ColumnSet[] = [];
  for (const [appId, used] of Map.groupBy(uses, (use) => use.appId)) {
    const known = readRegistered(used.map(({ definition }) => definition));
    const read = known.map((definition) => ({ appId, definition }));
    views.push(...[...listViewSets(read).values()].flat());
    await giveWay();
  }
  return Map.groupBy(views, ({ name }) => name);
}

/** With the indexes of the table, if a push can have recorded them. */
function toServedSet(set: ColumnSet, stored: StoredTable["definition"]): ServedSet {
  const { table } = readRecorded(stored);
  return serveSet(set, table ?? { ...set, columns: [], indexes: [], uniques: [] });
}
