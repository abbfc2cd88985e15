/**
 * Updates and deletes rows that match conditions. Such a write also reads, so it needs both scopes. It writes all rows that match,
 * or none.
 *
 * @module
 */

import { SIGNALS, SignalError } from "../db/mod.ts";
import { checkObject, type KeyRequestContext, ofParameter, scopeMissing } from "../http/mod.ts";
import { allows } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import { MAX_FOUND_IDS, MAX_ROWS } from "../std/limits.ts";
import { quote } from "../std/quote.ts";
import { type RecordedTable, TOO_MANY_ROWS } from "../tables/catalog/mod.ts";
import type { DataDeps } from "./deps.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { type AppTables, type Condition, ID, invalid } from "./query/filter.ts";
import { explain, type Limits, readCurrent, toAppTables } from "./query/find_pages.ts";
import { planFind, WHOLE_SET } from "./query/find_plan.ts";
import type { ListQuery } from "./query/list_query.ts";
import { explainWrite } from "./query/needed_index.ts";
import { readConditions, toProblem } from "./query/read_list_query.ts";
import { listSetTables } from "./query/referenced_conditions.ts";
import { toRuleConditions, withRule } from "./query/rule_conditions.ts";
import {
  checkAccept,
  explainUnknown,
  type Read,
  rejectIfMatch,
  requireTable,
} from "./read_request.ts";
import { readRow } from "./read_row.ts";
import { respondWithBatch } from "./responses.ts";
import { readSent, type SentWrite, write } from "./write.ts";

/** Parameters that are no conditions. */
const WRITE_PARAMETERS = ["all", "dryRun", "limit"] as const;

type WriteQuery = {
  /** All of them must be true; none: every row. */
  readonly where: readonly Condition[];
  readonly isDry: boolean;
  /** Max rows to write; without it, more than the max of a request are an error. */
  readonly limit: number | undefined;
};

/** @throws {Problem} invalid_query; unsupported_query — with every issue */
export function readWriteQuery(
  query: string,
  { columns }: Pick<RecordedTable["definition"], "columns">,
  tables: AppTables,
): WriteQuery {
  const { attempt, within, where, once, issues } = readConditions(query, columns, {
    names: WRITE_PARAMETERS,
    tables,
  });
  const isAll = attempt(() => readFlag("all", once.get("all"))) ?? false;
  const isDry = attempt(() => readFlag("dryRun", once.get("dryRun"))) ?? false;
  const limit = within("limit", () => attempt(() => readMost(once.get("limit"))));
  if (issues.length === 0 && isAll && where.length > 0)
    issues.push(invalid("Cannot use all together with conditions: send one of them"));
  if (issues.length === 0 && !isAll && where.length === 0) issues.push(withoutCondition());
  if (issues.length > 0) throw toProblem(issues);
  return { where, isDry, limit };
}

export function withoutCondition() {
  return invalid("Cannot write rows without a condition: send one, or ?all=true for every row");
}

function readFlag(name: string, text = "false"): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw ofParameter(name, invalid(`Cannot read ${name} ${quote(text)}: must be true or false`));
}

function readMost(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_ROWS) return limit;
  throw invalid(`Cannot read limit ${quote(text)}: must be a whole number from 1 to ${MAX_ROWS}`);
}

/** The list of the rows: a part of them in the order of their ids, all in any order. */
export function toList({ where, limit: part }: WriteQuery, limit: number): ListQuery {
  const order = part === undefined ? [] : [{ column: ID, isDescending: false }];
  return { ...WHOLE_SET, where, limit, order };
}

type Asked = { readonly table: RecordedTable; readonly query: WriteQuery };

export async function updateWhere(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const asked = await readAsked(deps, context);
  const sent = await readSent(deps, asked.table, context);
  if (Array.isArray(sent.value))
    throw invalid("Cannot use conditions with a list: its rows have their ids");
  const row = checkObject(sent.value);
  return await writeMatching(deps, context, {
    ...{ asked, sent },
    read: (definition) => readSome(definition, row),
  });
}

/** The sent columns. If there are only unknown fields, they are errors: `count` would say that rows have the sent values. */
function readSome(definition: TableDefinition, row: Readonly<Record<string, unknown>>): Body {
  const read = readRow(definition, row, { whole: false });
  const { text, unknown, issues } = read;
  if (text !== "{}" || issues.length > 0) return read;
  return { text, unknown: [], issues: explainUnknown(unknown, definition) };
}

export async function deleteWhere(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const asked = await readAsked(deps, context);
  const key = readIdempotencyKey(context.request);
  const sent = { table: asked.table, key, isStrict: false, text: "", value: undefined };
  return await writeMatching(deps, context, {
    ...{ asked, sent },
    read: () => ({ unknown: [], issues: [], text: undefined }),
  });
}

/** @throws {Problem} forbidden; invalid_precondition; invalid_query; unsupported_query */
async function readAsked(deps: DataDeps, context: KeyRequestContext): Promise<Asked> {
  const table = await requireTable(deps, context);
  checkAccept(context.request);
  if (!allows(context.principal.scopes, "data:read")) throw scopeMissing("data:read");
  rejectIfMatch(context.request, "conditions: it names the state of one row");
  return await readCurrent(deps, context, table, readQuery);
}

function readQuery(
  deps: DataDeps,
  context: KeyRequestContext,
  { definition }: RecordedTable,
): WriteQuery {
  const rule = toRuleConditions(definition, context.principal.person);
  const query = readWriteQuery(context.query, definition, toAppTables(deps, context));
  return { ...query, where: withRule(query.where, rule) };
}

type Body = Read & { readonly text: string | undefined };
type Matching = {
  readonly asked: Asked;
  readonly sent: SentWrite;
  /** The body, without text for a delete. */
  readonly read: (definition: TableDefinition) => Body;
};

async function writeMatching(
  deps: DataDeps,
  context: KeyRequestContext,
  { asked: { table, query }, sent, read }: Matching,
): Promise<Response> {
  const { appId, person } = context.principal;
  const isPart = query.limit !== undefined;
  const { isDry } = query;
  // A dry run has no effect that a key could repeat.
  const keyed = isDry ? { ...sent, key: undefined } : sent;
  let limits: Limits | undefined;
  const toCall = (current: RecordedTable) => {
    // Another column set may lack a column of the query.
    const asked = current === table ? query : readQuery(deps, context, current);
    const limit = asked.limit ?? (isDry ? MAX_FOUND_IDS : MAX_ROWS);
    const planned = planFind(toList(asked, limit), current, { appId, person });
    // A write along an index has the time of any write. Another has that of a query: a part of it would be nothing.
    limits = planned.isServed
      ? undefined
      : { isUnindexed: true, limitMs: deps.queryTimeoutS * 1000 };
    const { plan, values } = planned;
    return { values: { plan, values, limit, isPart, isDry }, related: listSetTables(asked.where) };
  };
  try {
    return await write(deps, context, keyed, {
      // The body is that of all rows.
      isOneRow: true,
      query: context.query,
      read,
      toCall: ({ text: body }, { bytes, claim }, current) => {
        const { values, related } = toCall(current);
        return body === undefined
          ? { endpoint: "delete_found", values: { ...values, claim }, related, ...limits }
          : {
              endpoint: "update_found",
              values: { ...values, claim, body, bytes },
              ...{ related, ...limits },
            };
      },
      respond: (written) => respondWithBatch(written, 200),
    });
  } catch (error) {
    if (isTooMany(error)) throw new Problem("too_many_rows");
    throw explain(error, {
      ...{ table, where: query.where, person, ...limits },
      explainSlow: (reason) => explainWrite(query.where, table, { appId, person, reason }),
    });
  }
}

function isTooMany(error: unknown): boolean {
  return (
    error instanceof SignalError &&
    error.signal === SIGNALS.tooManyVisits &&
    error.detail === TOO_MANY_ROWS
  );
}
