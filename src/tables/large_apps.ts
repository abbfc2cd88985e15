/** The apps above limits of a push that were higher, or did not exist, when they grew. @module */

import { call, type Database, readRows } from "../db/mod.ts";
import { QUOTAS } from "../schema/mod.ts";
import { SET_FUNCTIONS } from "./catalog/mod.ts";
import { countLongestRule } from "./plan/rule_quota.ts";
import { readRegistered } from "./stored_definitions.ts";

type Maxima = Readonly<
  Record<"functions" | "functionBytes" | "functionSets" | "conditionsPerRule", number>
>;

/** The apps above the limits of functions and of long rules, as sentences for the operator. */
export async function findLargeApps(admin: Database, max: Maxima = QUOTAS): Promise<string[]> {
  const found = await call(admin, "find_large_apps", {
    endpoints: SET_FUNCTIONS,
    max_functions: max.functions,
    max_bytes: max.functionBytes,
  });
  const used = await readRows<{ slug: string; sets: number; tables: unknown[] }>(
    admin,
    `select slug, sets, (select pg_catalog.json_agg(definition) from rowhouse.registrations where app_id = apps.id) as tables
    from rowhouse.apps, lateral (select pg_catalog.count(*)::pg_catalog.int4 as sets from (
      select table_name, hash from rowhouse.column_sets where app_id = apps.id and unused_since is null
      union select table_name, hash from rowhouse.views where app_id = apps.id) as used) as counted
    where sets > $1 or exists (select from rowhouse.registrations
      where app_id = apps.id and pg_catalog.jsonb_exists(definition, 'rules')) order by slug`,
    [max.functionSets],
  );
  return [
    ...found.map(
      ({ app_slug, functions, bytes }) =>
        `app ${app_slug} has ${functions} functions of ${bytes} bytes; a push accepts at most ${max.functions} of ${max.functionBytes} bytes`,
    ),
    ...used.flatMap(({ slug, sets, tables }) => {
      const conditions = countLongestRule(readRegistered(tables));
      return [
        ...(sets > max.functionSets
          ? [
              `app ${slug} has ${sets} tables and groups of roles with equal rights on a table; a push accepts at most ${max.functionSets}`,
            ]
          : []),
        ...(conditions > max.conditionsPerRule
          ? [
              `app ${slug} has a rule of ${conditions} conditions, with those of the rules that it follows; a push accepts at most ${max.conditionsPerRule}`,
            ]
          : []),
      ];
    }),
  ];
}
