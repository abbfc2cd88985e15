/**
 * The record of column sets whose functions are this release's output: `rowhouse migrate` writes it. A
 * comparison of all functions generates only those of other sets. A digest covers the release, everything that the functions are generated from, and the
 * functions that PostgreSQL has, so a changed set, or a changed body, is not in the record.
 *
 * @module
 */
import { type Database, RELEASE_TEXT, readRows, readValue, SERVICE_QUEUE } from "../../db/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import {
  endpointsOfSet,
  type FunctionSite,
  functionName,
  hashColumnSet,
  printedArguments,
  type ServedSet,
} from "../catalog/mod.ts";
import { digestOf, digestRelease } from "./release.ts";

/** The digests of bodies, by signature. */
export type Bodies = ReadonlyMap<string, string>;

export function digestSet(set: ServedSet, site: FunctionSite, bodies: Bodies): string {
  const { dialect, hasFilters } = site;
  const lines = signaturesOf(set, site).map((signature) => `${signature} ${bodies.get(signature)}`);
  return digestOf(
    [RELEASE_TEXT, digestRelease(), canonicalJson([dialect, hasFilters, set]), ...lines].join("\n"),
  );
}

/** The signatures of a set's functions, as {@linkcode Bodies} has them. */
export function signaturesOf(set: ServedSet, site: FunctionSite): string[] {
  const name = { table: set.name, hash: hashColumnSet(set) };
  return endpointsOfSet(set, site).map(
    (endpoint) => `${functionName(name, endpoint)}(${printedArguments(endpoint)})`,
  );
}

/** Empty in a database that an earlier release migrated. */
export async function readVerified(db: Database): Promise<ReadonlySet<string>> {
  if (!(await readValue<boolean>(db, IS_THERE))) return new Set();
  const rows = await readRows<{ digest: string }>(db, "select digest from rowhouse.verified_sets");
  return new Set(rows.map(({ digest }) => digest));
}

const IS_THERE = "select pg_catalog.to_regclass('rowhouse.verified_sets') is not null as is_there";

/** Replaces the record. Needs an administrator. */
export async function recordVerified(admin: Database, digests: Iterable<string>): Promise<void> {
  await admin.query(
    `with wanted as (select pg_catalog.json_array_elements_text($1::pg_catalog.text::pg_catalog.json) as digest),
    dropped as (delete from rowhouse.verified_sets where digest not in (select digest from wanted))
    insert into rowhouse.verified_sets select distinct digest from wanted on conflict do nothing`,
    [JSON.stringify([...digests])],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}
