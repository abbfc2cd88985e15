/**
 * Whether the functions of apps' tables are what this release generates. `rowhouse migrate` records the release in a table
 * that only an administrator writes, so a process knows whether a body that differs is from another release or planted.
 *
 * @module
 */
import * as v from "valibot";
import {
  type ColumnSet,
  endpointsOf,
  type FunctionSite,
  functionName,
  printedArguments,
  toColumnSet,
} from "../catalog/mod.ts";
import { type Database, quoteLiteral, readRows } from "../db/mod.ts";
import { KINDS, type Kind, readDefinition } from "../dsl/mod.ts";
import { PREVIEWS } from "../preview.ts";
import { renderBody } from "./functions.ts";
import { SITE_SQL } from "./site.ts";

/** A set of columns with every kind: two releases that generate the same for it generate the same for every set. */
const SAMPLE: ColumnSet = {
  name: "sample",
  columns: KINDS.map((kind) => ({ name: kind, kind })),
};

/** What this release generates, by a digest: a release is as new as its functions. */
export const RELEASE = digestOf(
  [
    { isDistributed: false, previews: [] },
    { isDistributed: true, previews: [] },
    { isDistributed: false, previews: PREVIEWS },
  ]
    .flatMap((site) => endpointsOf(site).map((endpoint) => renderBody(SAMPLE, endpoint, site)))
    .join("\n"),
);

/** Records the release whose functions the tables have; `null` while they are renewed. */
export async function recordRelease(admin: Database, release: string | null): Promise<void> {
  const name = release === null ? "null" : quoteLiteral(release);
  await admin.message(
    `update rowhouse.release set name = ${name}, recorded_at = pg_catalog.now() returning is_only`,
  );
}

/** Compares all functions with what this release generates, unless it has seen this digest of them and found no fault. */
export type CheckBodies = (digest: string) => Promise<readonly string[]>;

type Found = FunctionSite & {
  sets: unknown[];
  functions: { signature: string; digest: string }[];
};

/** Bodies are generated once for each set that exists: with many tables that is most of the work. */
export function makeCheckBodies(db: Database): CheckBodies {
  let checked: string | undefined;
  let generated = new Map<string, ReadonlyMap<string, string>>();
  return async (digest) => {
    if (digest === checked) return [];
    const { sets, functions, ...site } = await readFunctions(db);
    generated = new Map(
      sets.flatMap(readColumnSet).map((set) => {
        const key = `${functionName(set, "get")} ${JSON.stringify(site)}`;
        return [key, generated.get(key) ?? digestBodies(set, site)];
      }),
    );
    const wanted = new Map([...generated.values()].flatMap((digests) => [...digests]));
    const foreign = functions.filter(({ signature, digest }) => wanted.get(signature) !== digest);
    // Of the state that was compared: another one may have come since the digest was taken.
    checked = foreign.length > 0 ? undefined : digestFunctions(functions);
    return foreign.map(
      ({ signature }) => `Function api.${signature} must have the body that this release generates`,
    );
  };
}

async function readFunctions(db: Database): Promise<Found> {
  const [row] = await readRows<{ found: string }>(
    db,
    `select pg_catalog.json_build_object(
      ${SITE_SQL},
      'sets', (select coalesce(pg_catalog.json_agg(definition), '[]') from (
        select distinct on (table_name, hash) definition from rowhouse.column_sets) as sets),
      'functions', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
          'signature', proname || '(' || pg_catalog.oidvectortypes(proargtypes) || ')',
          'digest', pg_catalog.md5(pg_catalog.btrim(prosrc, E'\\n')))), '[]')
        from pg_catalog.pg_proc
        where pronamespace = pg_catalog.to_regnamespace('api')))::pg_catalog.text as found`,
  );
  return JSON.parse(row?.found ?? "null") as Found;
}

const StoredSet = v.strictObject({
  name: v.string(),
  columns: v.array(
    v.strictObject({
      name: v.string(),
      kind: v.picklist(KINDS),
      default: v.optional(v.unknown()),
    }),
  ),
});

const declareNothing = () => ({});

/** What a declaration of a column must have that no set has: here, what makes the rest valid. */
const DETAILS: Readonly<Record<Kind, (table: string, value: unknown) => object>> = {
  string: declareNothing,
  number: declareNothing,
  decimal: declareNothing,
  boolean: declareNothing,
  uuid: declareNothing,
  timestamp: declareNothing,
  json: declareNothing,
  enum: (_, value = "value") => ({ values: [value] }),
  ref: (table) => ({ table }),
};

/**
 * Returns the set if a push can have recorded it. The pushing login can store any other JSON, and bodies that are generated
 * from it would not be those of this release.
 */
function readColumnSet(stored: unknown): ColumnSet[] {
  const { success, output } = v.safeParse(StoredSet, stored);
  if (!success) return [];
  const { name } = output;
  const columns = output.columns.map((column) => ({
    ...{ required: false, unique: false, index: false },
    ...column,
    ...DETAILS[column.kind](name, column.default),
  }));
  const table = { name, columns, indexes: [], uniques: [] };
  const reading = readDefinition({ version: 1, tables: [table] });
  return "faults" in reading ? [] : reading.definition.tables.map(toColumnSet);
}

function digestBodies(set: ColumnSet, site: FunctionSite): ReadonlyMap<string, string> {
  return new Map(
    endpointsOf(site).map((endpoint) => [
      `${functionName(set, endpoint)}(${printedArguments(endpoint)})`,
      digestOf(renderBody(set, endpoint, site)),
    ]),
  );
}

/** As `rowhouse.digest_bodies()`. */
function digestFunctions(functions: Found["functions"]): string {
  const lines = functions.map(({ signature, digest }) => `${signature} ${digest}`);
  return digestOf(lines.sort().join("\n"));
}

/** As PostgreSQL's `md5()`. */
export function digestOf(text: string): string {
  return new Bun.CryptoHasher("md5").update(text).digest("hex");
}
