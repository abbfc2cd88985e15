/** The buffers that a page of a person reads, requested as the service requests it. @module */
import { readListQuery } from "../../src/data/query/list_query.ts";
import { planQuery } from "../../src/data/query/plan.ts";
import { toRuleConditions } from "../../src/data/query/rule_conditions.ts";
import { planSeenWalk } from "../../src/data/query/walk.ts";
import {
  definitionFor,
  type EndpointCall,
  functionName,
  placeholdersOf,
  type RecordedTable,
  toParameters,
} from "../../src/tables/catalog/mod.ts";
import type { PersonViews, TestCaller } from "./person_views.ts";

export type Measured = {
  readonly buffers: number;
  readonly rows: number;
  readonly next: string | null;
};
type Asked = { readonly appId: string; readonly caller: TestCaller; readonly table: string };
type Explained = { readonly Plan: Record<string, number> };

/** A page as the service reads it: a list without parameters of a query, a walk if one has the rows, or a query. */
function planPage(
  views: PersonViews,
  { appId, caller, table: name }: Asked,
  text: string,
): EndpointCall {
  const rest = { bytes: 8_388_608, known: "" };
  const [, limit, offset = "0"] = /^limit=(\d+)(?:&offset=(\d+))?$/.exec(text) ?? [];
  if (limit !== undefined) {
    const values = { ...rest, limit: Number(limit), offset: Number(offset), inline: null };
    return { endpoint: "list", values };
  }
  const table = tableOf(views, { name, role: caller.role });
  const person = { id: caller.id, role: caller.role };
  const tables = { appId, find: () => undefined };
  const rule = toRuleConditions(table.definition, person);
  const read = readListQuery(text, table.definition, tables, rule);
  const limits = { missing: new Set<string>(), work: 1e8, visits: 10_000, isCounted: false };
  const options = { ...limits, appId, person };
  const walk = planSeenWalk(read, table, options);
  if (walk !== undefined) return { endpoint: "walk", values: { ...walk, ...rest, inline: null } };
  const { plan, values } = planQuery(read, table, options);
  return { endpoint: "query", values: { plan, values, ...rest } };
}

function tableOf(
  views: PersonViews,
  { name, role }: { name: string; role: string },
): RecordedTable {
  const view = views.find(name, role)?.view;
  const whole = views.tables.find((table) => table.name === name);
  if (view === undefined || whole === undefined) throw new Error(`No view of ${name} by ${role}`);
  return { name, whole, definition: definitionFor(whole, view) };
}

/** The buffers of a page, its rows and its cursor. */
export async function measurePage(
  views: PersonViews,
  asked: Asked,
  text: string,
): Promise<Measured> {
  const set = views.find(asked.table, asked.caller.role);
  if (set === undefined) throw new Error(asked.table);
  const call = planPage(views, asked, text);
  const parameters = toParameters({ app: asked.appId, proof: asked.caller.proof }, call);
  const placeholders = Object.values(placeholdersOf(call.endpoint)).join(", ");
  const statement = `select api."${functionName(set, call.endpoint)}"(${placeholders}) as body`;
  const [page] = await views.admin.unsafe(statement, [...parameters]);
  const body = String(page?.["body"]);
  const { rows, next = null } = JSON.parse(body.slice(body.indexOf("{"))) as {
    rows: unknown[];
    next?: string | null;
  };
  const explain = `explain (analyze, buffers, format json) ${statement}`;
  const [explained] = await views.admin.unsafe(explain, [...parameters]);
  const [root] = (explained?.["QUERY PLAN"] ?? []) as Explained[];
  const { "Shared Hit Blocks": hit = 0, "Shared Read Blocks": loaded = 0 } = root?.Plan ?? {};
  return { buffers: hit + loaded, rows: rows.length, next };
}
