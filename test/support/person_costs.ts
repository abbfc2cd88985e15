/** The buffers that a page of a person reads, requested as the service requests it. @module */
import { planFind } from "../../src/data/query/find_plan.ts";
import { planGroups, readGroupQuery } from "../../src/data/query/group_query.ts";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { isRuleWalked, toRuleConditions, withRule } from "../../src/data/query/rule_conditions.ts";
import { planSeenWalk } from "../../src/data/query/walk.ts";
import { readWriteQuery, toList } from "../../src/data/write_where.ts";
import { MAX_COUNTED, MAX_FOUND_IDS } from "../../src/std/limits.ts";
import {
  calledName,
  definitionFor,
  type EndpointCall,
  type RecordedTable,
  toParameters,
} from "../../src/tables/catalog/mod.ts";
import { buffersOf, EXPLAIN } from "./buffers.ts";
import type { PersonViews, TestCaller } from "./person_views.ts";

export type Measured = {
  readonly buffers: number;
  readonly rows: number;
  readonly next: string | null;
};
type Asked = { readonly appId: string; readonly caller: TestCaller; readonly table: string };

/** A page as the service reads it, at the end of the text "&count" with an exact count: a list without parameters of a query, a walk if one has the rows, or a query. */
function planPage(views: PersonViews, asked: Asked, asking: string): EndpointCall {
  const rest = ANY;
  const [, limit, offset = "0"] = /^limit=(\d+)(?:&offset=(\d+))?$/.exec(asking) ?? [];
  const { table, rule, options, tables } = planFor(views, asked);
  if (limit !== undefined && isRuleWalked(table, options.person)) {
    const values = { ...rest, limit: Number(limit), offset: Number(offset), inline: null };
    return { endpoint: "list", values };
  }
  const [text, isCounted] = asking.endsWith("&count")
    ? [asking.slice(0, -6), true]
    : [asking, false];
  const read = readListQuery(text, table.definition, tables, rule);
  const walk = planSeenWalk(read, table, options);
  if (walk !== undefined && !isCounted)
    return { endpoint: "walk", values: { ...walk, ...rest, inline: null } };
  const counted = isCounted ? MAX_COUNTED : undefined;
  const { plan, values } = planFind(read, table, { ...options, counted });
  return { endpoint: "find", values: { plan, values, ...rest } };
}

const ANY = { bytes: 8_388_608, known: "" } as const;

function planFor(views: PersonViews, { appId, caller, table: name }: Asked) {
  const table = tableOf(views, { name, role: caller.role });
  const person = { id: caller.id, role: caller.role };
  const find = (other: string) =>
    views.find(other, caller.role) && tableOf(views, { name: other, role: caller.role });
  return {
    ...{ table, rule: toRuleConditions(table.definition, person) },
    ...{ options: { appId, person }, tables: { appId, find } },
  };
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
  const { body, buffers } = await measureCall(views, asked, planPage(views, asked, text));
  const { rows, next = null } = JSON.parse(body.slice(body.indexOf("{"))) as {
    rows: unknown[];
    next?: string | null;
  };
  return { buffers, rows: rows.length, next };
}

/** The buffers that the groups of a query string read, and those that a dry delete by it reads. */
export async function measureGroups(
  views: PersonViews,
  asked: Asked,
  text: string,
): Promise<number> {
  const { table, rule, options } = planFor(views, asked);
  const read = readGroupQuery(text, table.definition);
  const query = { ...read, where: withRule(read.where, rule) };
  const { plan, values } = planGroups(query, table, options);
  const call = { endpoint: "find_groups", values: { plan, values, ...ANY } } as const;
  return (await measureCall(views, asked, call)).buffers;
}

export async function measureDryDelete(
  views: PersonViews,
  asked: Asked,
  text: string,
): Promise<number> {
  const { table, rule, options, tables } = planFor(views, asked);
  const read = readWriteQuery(text, table.definition, tables);
  const list = toList({ ...read, where: withRule(read.where, rule) }, MAX_FOUND_IDS);
  const { plan, values } = planFind(list, table, options);
  const rest = { limit: MAX_FOUND_IDS, isPart: false, isDry: true, claim: null };
  const call = { endpoint: "delete_found", values: { plan, values, ...rest } } as const;
  return (await measureCall(views, asked, call)).buffers;
}

async function measureCall(
  views: PersonViews,
  asked: Asked,
  call: EndpointCall,
): Promise<{ body: string; buffers: number }> {
  const set = views.find(asked.table, asked.caller.role);
  if (set === undefined) throw new Error(asked.table);
  const parameters = toParameters(set, { app: asked.appId, proof: asked.caller.proof }, call);
  const placeholders = parameters.map((_, index) => `$${index + 1}`).join(", ");
  const statement = `select ${calledName(set, call.endpoint)}(${placeholders}) as body`;
  const [page] = await views.admin.unsafe(statement, [...parameters]);
  const explained = await views.admin.unsafe(`${EXPLAIN} ${statement}`, [...parameters]);
  return { body: String(page?.["body"]), buffers: buffersOf(explained) };
}
