/** The buffers that statements read, on each PostgreSQL and with each state of the statistics. @module */
import { planFind } from "../../src/data/query/find_plan.ts";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { MAX_COUNTED } from "../../src/std/limits.ts";
import { renderCall } from "./functions.ts";
import { POSTGRES_VERSIONS } from "./postgres_versions.ts";
import { proofOf } from "./proof.ts";
import { findIn, findTable } from "./recorded.ts";
import type { TestApp, TestService } from "./service.ts";

/** Each PostgreSQL, with current statistics and with those of an almost empty table. */
export const MEASURED_SERVERS = POSTGRES_VERSIONS.flatMap((version) => [
  { ...version, isStale: false, statistics: "current" },
  { ...version, isStale: true, statistics: "old" },
]);

/** Updates the statistics of tables. */
export function analyze({ service }: TestService, ...tables: string[]): Promise<unknown> {
  return service.admin.message(`analyze ${tables.map((name) => `data.${name}`)}; select 1`);
}

/** Updates the statistics of tables for the last time: PostgreSQL then does not update them. */
export async function freezeStatistics(service: TestService, ...tables: string[]): Promise<void> {
  const alter = tables.map((name) => `alter table data.${name} set (autovacuum_enabled = off);`);
  await service.service.admin.message(`${alter.join(" ")} select 1`);
  await analyze(service, ...tables);
}

export type AskedList = {
  readonly schema: unknown;
  readonly table: string;
  readonly query: string;
  readonly isCounted?: boolean;
};

/** Plans a list as the service does, with the table that its query reads. */
export function planList(
  { id: appId }: Pick<TestApp, "id">,
  { schema, table: name, query, isCounted = false }: AskedList,
) {
  const table = findTable(schema, name);
  const list = readListQuery(query, table.definition, { appId, find: findIn(schema) });
  const counted = isCounted ? MAX_COUNTED : undefined;
  return { ...planFind(list, table, { appId, person: undefined, counted }), schema, table: name };
}

/** Returns the buffers that a list reads in a session that knows the catalogs. */
export async function measureList(
  service: TestService,
  app: TestApp,
  asked: AskedList,
): Promise<number> {
  const planned = planList(app, asked);
  await measureBuffers(service, app, planned);
  return await measureBuffers(service, app, planned);
}

export type MeasuredList = {
  readonly schema: unknown;
  readonly table: string;
  readonly endpoint?: "find" | "find_groups";
};

/** Returns the buffers that a call of the query or groups function and its nested calls read. */
export async function measureBuffers(
  service: TestService,
  app: TestApp,
  {
    schema,
    table,
    endpoint = "find",
    plan,
    values,
  }: MeasuredList & { plan: string; values: readonly string[] },
): Promise<number> {
  const call = renderCall(schema, table, endpoint, {
    ...{ app: "$1", proof: proofOf(app.key), values: "$2, $3::text::text[], 8388608, ''" },
  });
  const list = `{${values.map((value) => JSON.stringify(value)).join(",")}}`;
  const explained = await service.query(`${EXPLAIN} select ${call}`, [app.id, plan, list]);
  return buffersOf(explained);
}

export const EXPLAIN = "explain (analyze, buffers, format json)";

/** Returns the buffers of an explained statement, with those of its functions. */
export function buffersOf(explained: readonly unknown[]): number {
  const [row] = explained as { "QUERY PLAN": [{ Plan: Record<string, number> }] }[];
  const { "Shared Hit Blocks": hit = 0, "Shared Read Blocks": loaded = 0 } =
    row?.["QUERY PLAN"][0].Plan ?? {};
  return hit + loaded;
}
