/** Drift: the differences between PostgreSQL and the record of pushes, by name. Repairs nothing. @module */
import { type Database, readValue } from "../../db/mod.ts";
import { SITE_SQL } from "../site.ts";
import { type Facts, type Recorded, toFacts } from "./facts.ts";
import { readSnapshot } from "./snapshot.ts";

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

/** The record of pushes, as JSON. */
export const RECORDED_SQL = `select pg_catalog.json_build_object(
      ${SITE_SQL},
      'tables', (select coalesce(pg_catalog.json_agg(definition), '[]') from rowhouse.tables),
      'sets', (select coalesce(pg_catalog.json_agg(definition), '[]') from (
        select distinct on (table_name, hash) definition from rowhouse.column_sets) as sets),
      'unfinished', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('table', table_name, 'kind', kind, 'name', name)), '[]')
        from rowhouse.deferred_steps where state <> 'done'))`;

export type RecordedState = Recorded & { unfinished: Unfinished[] };

/** Every difference between the record and PostgreSQL, except builds in progress. */
export function findDrift(recorded: RecordedState, found: Facts): Difference[] {
  return compareFinished(recorded.unfinished, toFacts(recorded), found);
}

/** Every difference, except in unfinished builds. */
export function compareFinished(
  unfinished: readonly Unfinished[],
  wanted: Facts,
  found: Facts,
): Difference[] {
  const paths = new Set(unfinished.map(toPath));
  const without = (facts: Facts) => new Map([...facts].filter(([path]) => !paths.has(path)));
  return compareFacts(without(wanted), without(found));
}

type Unfinished = { table: string; kind: "index" | "reference"; name: string };

/** Builds in progress appear as deferred steps, not as drift. */
function toPath({ table, kind, name }: Unfinished): string {
  return `table ${table} / ${kind === "index" ? "index" : "constraint"} ${name}`;
}
