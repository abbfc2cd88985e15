/**
 * Compares the functions of apps' tables with this release's output, in a process that serves.
 *
 * @module
 */
import * as v from "valibot";
import { type Database, readValue } from "../db/mod.ts";
import { KINDS, SQL } from "../kinds/mod.ts";
import { readDefinition } from "../schema/mod.ts";
import { type GiveWay, makeGiveWay } from "../std/give_way.ts";
import {
  type ColumnSet,
  endpointsOfSet,
  type FunctionSite,
  functionName,
  isOneServer,
  listViewSets,
  printedArguments,
  type RecordedDefinition,
  type ServedSet,
  serveSet,
  type TableUse,
  toColumnSet,
} from "./catalog/mod.ts";
import { renderBody } from "./sql/functions/functions.ts";
import { digestOf } from "./sql/release.ts";
import { type Bodies, digestSet, readVerified, signaturesOf } from "./sql/verified_sets.ts";
import { RECORD_SQL, readRecorded, readRegistered } from "./state.ts";

/** Compares all functions with this release's output, unless this digest already passed. */
export type CheckBodies = (digest: string) => Promise<readonly string[]>;

type Found = FunctionSite & {
  sets: unknown[];
  /** Everything that apps with rules use. */
  uses: { appId: string; definition: unknown }[];
  /** The tables: functions depend on their indexes. */
  tables: RecordedDefinition[];
  functions: { signature: string; digest: string }[];
};

/** Generates bodies once per existing column set, unless they are verified: with many tables this is most of the work. */
export function makeCheckBodies(db: Database): CheckBodies {
  let checked: string | undefined;
  let verified: ReadonlySet<string> | undefined;
  let generated = new Map<string, Bodies>();
  return async (digest) => {
    if (digest === checked) return [];
    verified ??= await readVerified(db);
    const { sets, uses, tables, functions, ...site } = await readFunctions(db);
    const bodies = new Map(functions.map((found) => [found.signature, found.digest]));
    const recorded = new Map(tables.map((table) => [table.name, table]));
    const giveWay = makeGiveWay();
    const wantedSets: ColumnSet[] = sets.flatMap(readColumnSet);
    if (isOneServer(site))
      for (const used of Map.groupBy(uses, ({ appId }) => appId).values()) {
        await giveWay();
        wantedSets.push(...[...listViewSets(readUses(used)).values()].flat());
      }
    const found = new Map<string, Bodies>();
    const at = { site, giveWay, verified, bodies };
    for (const set of wantedSets) {
      const table = recorded.get(set.name);
      const key = `${functionName(set, "get")} ${JSON.stringify([site, table])}`;
      const digests = generated.get(key) ?? (await digestBodies(toServedSet(set, table), at));
      found.set(key, digests);
      await giveWay();
    }
    generated = found;
    const wanted = new Map([...generated.values()].flatMap((digests) => [...digests]));
    const foreign = functions.filter(({ signature, digest }) => wanted.get(signature) !== digest);
    // Record the digest of the compared functions: the functions in the database may have changed since then.
    checked = foreign.length > 0 ? undefined : digestFunctions(functions);
    return foreign.map(
      ({ signature }) => `Function api.${signature} must have the body that this release generates`,
    );
  };
}

async function readFunctions(db: Database): Promise<Found> {
  return await readValue<Found>(
    db,
    `select pg_catalog.json_build_object(
      ${RECORD_SQL},
      'functions', rowhouse.read_bodies())`,
  );
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

/** The tables of apps with rules, if pushes can have recorded them; otherwise the apps have no views. */
function readUses(uses: Found["uses"]): TableUse[] {
  const byApp = Map.groupBy(uses, ({ appId }) => appId);
  return [...byApp].flatMap(([appId, used]) =>
    readRegistered(used.map(({ definition }) => definition)).map((definition) => ({
      appId,
      definition,
    })),
  );
}

/** The indexes of the table, if a push can have recorded them. */
function toServedSet(set: ColumnSet, stored: RecordedDefinition | undefined): ServedSet {
  const table = stored && readRecorded(stored).table;
  return serveSet(set, table ?? { ...set, columns: [], indexes: [], uniques: [] });
}

type Comparing = {
  site: FunctionSite;
  giveWay: GiveWay;
  verified: ReadonlySet<string>;
  bodies: Bodies;
};

/** The digests of the bodies that this release generates, by signature: for a verified set, those that it has. */
async function digestBodies(
  set: ServedSet,
  { site, giveWay, verified, bodies }: Comparing,
): Promise<Bodies> {
  if (verified.has(digestSet(set, site, bodies)))
    return new Map(signaturesOf(set, site).map((name) => [name, bodies.get(name) ?? ""]));
  const digests = new Map<string, string>();
  for (const endpoint of endpointsOfSet(set, site)) {
    const signature = `${functionName(set, endpoint)}(${printedArguments(endpoint)})`;
    digests.set(signature, digestOf(renderBody(set, endpoint, site)));
    await giveWay();
  }
  return digests;
}

/** As `rowhouse.digest_bodies()`. */
function digestFunctions(functions: Found["functions"]): string {
  const lines = functions.map(({ signature, digest }) => `${signature} ${digest}`);
  return digestOf(lines.sort().join("\n"));
}
