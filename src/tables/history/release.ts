/**
 * Checks that the functions of apps' tables are this release's output. `rowhouse migrate` records the release in a table
 * that only an administrator writes, so a process can distinguish another release's body from a planted one.
 *
 * @module
 */
import * as v from "valibot";
import {
  type Database,
  DIALECT_NAMES,
  PREVIEWS_SQL,
  quoteLiteral,
  readValue,
} from "../../db/mod.ts";
import { KINDS, SQL } from "../../kinds/mod.ts";
import { PREVIEWS } from "../../preview.ts";
import { readDefinition } from "../../schema/mod.ts";
import {
  type ColumnSet,
  deriveName,
  endpointsOf,
  type FunctionSite,
  functionName,
  printedArguments,
  type RecordedDefinition,
  type ServedSet,
  serveSet,
  toColumnSet,
} from "../catalog/mod.ts";
import { renderBody } from "../sql/functions.ts";
import { SITE_SQL } from "../state.ts";
import { readRecorded } from "../verify/read_recorded.ts";

/** A column set with every kind and rule: two releases with the same output for it have the same output for every column set. */
const COLUMNS: ColumnSet = {
  name: "sample",
  columns: [
    ...KINDS.map((kind) => ({ name: kind, kind })),
    { name: "changed", kind: "timestamp", default: "now", onUpdate: "now" },
  ],
};
/** Every kind at each position of an index, in the index of one app, and in a unique constraint. */
const SAMPLE = serveSet(COLUMNS, {
  name: COLUMNS.name,
  columns: COLUMNS.columns.map((column) => ({
    ...{ required: false, unique: false, index: false },
    ...column,
  })),
  indexes: KINDS.flatMap((kind) => [
    [kind, "id"],
    [kind, "changed", "id"],
    ["changed", kind],
  ]),
  uniques: KINDS.map((kind) => [kind, "changed"]),
  deferred: {
    columns: [],
    indexes: {
      [deriveName(COLUMNS.name, ["changed", "string"], "idx")]:
        "00000000-0000-0000-0000-000000000000",
    },
  },
});

/** A digest of this release's functions, which orders releases by their functions. */
export const RELEASE = digestOf(
  [
    ...DIALECT_NAMES.map((dialect) => ({ dialect, previews: [] })),
    { dialect: "plain" as const, previews: PREVIEWS },
  ]
    .flatMap((site) => endpointsOf(site).map((endpoint) => renderBody(SAMPLE, endpoint, site)))
    .join("\n"),
);

/** Records the release of the tables' functions; `null` during a renewal. */
export async function recordRelease(admin: Database, release: string | null): Promise<void> {
  const name = release === null ? "null" : quoteLiteral(release);
  await admin.message(
    `update rowhouse.release set name = ${name}, recorded_at = pg_catalog.now() returning is_only`,
  );
}

/** Compares all functions with this release's output, unless this digest already passed. */
export type CheckBodies = (digest: string) => Promise<readonly string[]>;

type Found = FunctionSite & {
  sets: unknown[];
  /** The tables, if functions depend on their indexes. */
  tables: RecordedDefinition[];
  functions: { signature: string; digest: string }[];
};

/** Generates bodies once per existing column set: with many tables this is most of the work. */
export function makeCheckBodies(db: Database): CheckBodies {
  let checked: string | undefined;
  let generated = new Map<string, ReadonlyMap<string, string>>();
  return async (digest) => {
    if (digest === checked) return [];
    const { sets, tables, functions, ...site } = await readFunctions(db);
    const recorded = new Map(tables.map((table) => [table.name, table]));
    generated = new Map(
      sets.flatMap(readColumnSet).map((set) => {
        const table = recorded.get(set.name);
        const key = `${functionName(set, "get")} ${JSON.stringify([site, table])}`;
        return [key, generated.get(key) ?? digestBodies(toServedSet(set, table), site)];
      }),
    );
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
      ${SITE_SQL},
      'tables', (select coalesce(pg_catalog.json_agg(definition), '[]') from rowhouse.tables
        where pg_catalog.jsonb_exists(${PREVIEWS_SQL}::pg_catalog.jsonb, 'filters')),
      'sets', (select coalesce(pg_catalog.json_agg(definition), '[]') from (
        select distinct on (table_name, hash) definition from rowhouse.column_sets) as sets),
      'functions', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
          'signature', proname || '(' || pg_catalog.oidvectortypes(proargtypes) || ')',
          'digest', pg_catalog.md5(pg_catalog.btrim(prosrc, E'\\n')))), '[]')
        from pg_catalog.pg_proc
        where pronamespace = pg_catalog.to_regnamespace('api')))`,
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

/** The indexes of the table, if a push can have recorded them. */
function toServedSet(set: ColumnSet, stored: RecordedDefinition | undefined): ServedSet {
  const table = stored && readRecorded(stored).table;
  return serveSet(set, table ?? { ...set, columns: [], indexes: [], uniques: [] });
}

function digestBodies(set: ServedSet, site: FunctionSite): ReadonlyMap<string, string> {
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
