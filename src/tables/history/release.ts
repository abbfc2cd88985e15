/**
 * Checks that the functions of apps' tables are this release's output. `rowhouse migrate` records the release in a table
 * that only an administrator writes, so a process can distinguish another release's body from a planted one.
 *
 * @module
 */
import * as v from "valibot";
import { type Database, DIALECT_NAMES, quoteLiteral, readValue } from "../../db/mod.ts";
import { KINDS, SQL } from "../../kinds/mod.ts";
import { type Rule, readDefinition, type TableDefinition } from "../../schema/mod.ts";
import { type GiveWay, makeGiveWay } from "../../std/give_way.ts";
import {
  type ColumnSet,
  deriveName,
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
  viewSetsOf,
} from "../catalog/mod.ts";
import { renderBody } from "../sql/functions.ts";
import { readRecorded, readRegistered, SITE_SQL } from "../state.ts";

/** A column set with every kind and rule: two releases with the same output for it have the same output for every column set. */
const COLUMNS: ColumnSet = {
  name: "sample",
  columns: [
    ...KINDS.map((kind) => ({ name: kind, kind })),
    { name: "changed", kind: "timestamp", default: "now", onUpdate: "now" },
  ],
};

let release: string | undefined;

/** A digest of this release's functions, made on first use: commands that do not need it start 0.2 s earlier. */
export function digestRelease(): string {
  release ??= digestOf(renderSamples().join("\n"));
  return release;
}

function renderSamples(): string[] {
  const sets = [makeSample(), ...listSampleViews()];
  const sites = [
    ...DIALECT_NAMES.map((dialect) => ({ dialect, hasFilters: false })),
    { dialect: "plain" as const, hasFilters: true },
  ];
  return sites.flatMap((site) =>
    sets.flatMap((set) =>
      endpointsOfSet(set, site).map((endpoint) => renderBody(set, endpoint, site)),
    ),
  );
}

/** Every kind at each position of an index, in the index of one app, and in a unique constraint. */
function makeSample(): ServedSet {
  return serveSet(COLUMNS, {
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
}

/** Views with every part of the rule language, in every place. */
function listSampleViews(): ServedSet[] {
  const plain = { required: false, unique: false, index: false };
  const lists = { indexes: [], uniques: [] };
  const teams: TableDefinition = {
    ...{ name: "teams", columns: [{ ...plain, name: "string", kind: "string" }], ...lists },
    rules: { allow: { few: { read: [{ string: ["a", "b"] }] }, all: { read: [{}] } } },
  };
  const members: TableDefinition = {
    name: "members",
    columns: [
      { ...plain, name: "uuid", kind: "uuid" },
      { ...plain, name: "ref", kind: "ref", table: "teams" },
      { ...plain, name: "number", kind: "number" },
    ],
    ...lists,
  };
  const rule: Rule = [
    { uuid: "me", enum: ["a", "b"], boolean: true, number: 1, decimal: "1.5", string: null },
    { ref: { memberOf: "members", where: { number: 1 } } },
    { ref: { readable: true } },
  ];
  const every: Rule = [{}];
  const sample: TableDefinition = {
    ...{ name: COLUMNS.name, ...lists },
    columns: COLUMNS.columns.map((column) => ({
      ...plain,
      ...column,
      ...(column.kind === "ref" ? { table: "teams" } : {}),
    })),
    rules: {
      allow: {
        all: { read: every, create: every, update: { from: every, to: every }, delete: every },
        few: { read: rule, create: rule, update: { from: rule, to: rule }, delete: rule },
        new: { create: rule },
      },
      owner: ["uuid"],
      only: { string: ["all"] },
      setBy: { decimal: ["all"] },
    },
  };
  const app = "00000000-0000-0000-0000-000000000000";
  return viewSetsOf(app, [members, sample, teams], sample.name).map((set) =>
    serveSet(set, { ...sample, indexes: KINDS.map((kind) => [kind, "id"]) }),
  );
}

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
  /** Everything that apps with rules use. */
  uses: { appId: string; definition: unknown }[];
  /** The tables: functions depend on their indexes. */
  tables: RecordedDefinition[];
  functions: { signature: string; digest: string }[];
};

/** Generates bodies once per existing column set: with many tables this is most of the work. */
export function makeCheckBodies(db: Database): CheckBodies {
  let checked: string | undefined;
  let generated = new Map<string, ReadonlyMap<string, string>>();
  return async (digest) => {
    if (digest === checked) return [];
    const { sets, uses, tables, functions, ...site } = await readFunctions(db);
    const recorded = new Map(tables.map((table) => [table.name, table]));
    const giveWay = makeGiveWay();
    const wantedSets: ColumnSet[] = sets.flatMap(readColumnSet);
    if (isOneServer(site))
      for (const used of Map.groupBy(uses, ({ appId }) => appId).values()) {
        await giveWay();
        wantedSets.push(...[...listViewSets(readUses(used)).values()].flat());
      }
    const found = new Map<string, ReadonlyMap<string, string>>();
    for (const set of wantedSets) {
      const table = recorded.get(set.name);
      const key = `${functionName(set, "get")} ${JSON.stringify([site, table])}`;
      const digests = generated.get(key);
      found.set(key, digests ?? (await digestBodies(toServedSet(set, table), { site, giveWay })));
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
      ${SITE_SQL},
      'tables', (select coalesce(pg_catalog.json_agg(definition), '[]') from rowhouse.tables),
      'sets', (select coalesce(pg_catalog.json_agg(definition), '[]') from (
        select distinct on (table_name, hash) definition from rowhouse.column_sets) as sets),
      'uses', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('appId', app_id, 'definition', definition)), '[]')
        from rowhouse.registrations where app_id in (
          select app_id from rowhouse.registrations where pg_catalog.jsonb_exists(definition, 'rules'))),
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

async function digestBodies(
  set: ServedSet,
  { site, giveWay }: { site: FunctionSite; giveWay: GiveWay },
): Promise<ReadonlyMap<string, string>> {
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

/** As PostgreSQL's `md5()`. */
export function digestOf(text: string): string {
  return new Bun.CryptoHasher("md5").update(text).digest("hex");
}
