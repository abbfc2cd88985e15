/** Lists: reads the query, and calls the function that finds the page. @module */

import { SIGNALS, SignalError } from "../../db/mod.ts";
import {
  encodeBody,
  type KeyRequestContext,
  listTags,
  type NamedTags,
  prefers,
  readEncoding,
  type TaggedBody,
} from "../../http/mod.ts";
import type { Person } from "../../principal.ts";
import { Problem, toSentence } from "../../problem.ts";
import { toDurationText } from "../../std/duration.ts";
import { PAGE_ENDS, type RecordedTable, TAG_LENGTH } from "../../tables/catalog/mod.ts";
import { callFunction, findCurrent } from "../call.ts";
import { allowsQueries, type DataDeps } from "../deps.ts";
import { proveKey } from "../prove_key.ts";
import { UsedUpError } from "../unindexed.ts";
import type { AppTables, Condition } from "./filter.ts";
import { planFind } from "./find_plan.ts";
import { explainGroups, type GroupQuery, planGroups, readGroupQuery } from "./group_query.ts";
import { type IndexUse, useOfRelated } from "./index_use.ts";
import { type ListQuery, type Page, readPage } from "./list_query.ts";
import {
  describeTime,
  explainNeededIndex,
  explainRule,
  explainSet,
  explainTimeout,
  NARROW,
} from "./needed_index.ts";
import { readListQuery } from "./read_list_query.ts";
import { listSetTables } from "./referenced_conditions.ts";
import { listTables } from "./related_rows.ts";
import { isRuleIndexed, isRuleWalked, toRuleConditions, withRule } from "./rule_conditions.ts";
import { planSeenWalk } from "./walk.ts";

// Finds the page of a list: its tag, and its rows unless the caller has them. A page that may be
// short is requested in a pipelined call. If the page has changed and is large, a second call on
// its own connection returns it.

/** `body` is absent if the caller has the tag. */
type FoundPage = {
  readonly tag: string;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
};

type PageQuery = {
  readonly table: RecordedTable;
  readonly limit: number;
  readonly offset: number;
  /** The tags of the available states of the page. */
  readonly tags: readonly string[];
};

/** Max bytes of a page in a pipelined call: about 1 ms in PostgreSQL. */
const INLINE_BYTES = 65_536;
/** Max rows that a pipelined call skips and visits: less than 1 ms. */
const MAX_TAGGED_ROWS = 2000;
/** A page with more rows is probably too large for a pipelined call. Without a tag, the first call is not pipelined. */
const MAX_INLINE_ROWS = 100;

/** The end of this caller's lists of all rows. */
function toPageEnd(deps: DataDeps, { principal }: KeyRequestContext): keyof typeof PAGE_ENDS {
  return allowsQueries(deps, principal) ? "cursor" : "plain";
}

/** A person whose rule has no walks, or too many rows or memberships for those of a list, gets the page of a query. */
async function findPage(
  deps: DataDeps,
  context: KeyRequestContext,
  asked: PageQuery,
): Promise<FoundPage> {
  const { table, tags } = asked;
  const find = async () => {
    const query = { ...readQuery(deps, context, table), isCounted: false };
    const page = await findQueriedPage(deps, context, { table, tags, query, isFound: true });
    return toPageEnd(deps, context) === "cursor" ? page : withoutCursor(page);
  };
  const { hasNodes } = deps.catalog.dialect();
  const { person } = context.principal;
  if (hasNodes && person !== undefined) return await find();
  if (!isRuleWalked(table, person)) return await find();
  return await walkPage(deps, context, asked).catch((error: unknown) => {
    if (error instanceof SignalError && error.signal === SIGNALS.tooManyVisits) return find();
    throw error;
  });
}

async function walkPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, limit, offset, tags }: PageQuery,
): Promise<FoundPage> {
  const known = [PAGE_ENDS[toPageEnd(deps, context)], ...tags].join(",");
  const { person } = context.principal;
  // An API key reads no other rows than those of the page.
  const isServed = isRuleWalked(table, person);
  const limits = person && toLimits(deps, { isServed, hasIndex: isServed });
  const call = async (inline: number | null) => {
    const values = { limit, offset, bytes: deps.maxResponseBytes, known, inline };
    const sent = callFunction(deps, context, { table, endpoint: "list", values, ...limits });
    return await sent.catch((error: unknown) => {
      throw limits === undefined ? error : explain(error, { table, person, where: [], ...limits });
    });
  };
  const isShort =
    limit + offset <= MAX_TAGGED_ROWS && (limit <= MAX_INLINE_ROWS || tags.length > 0);
  if (isShort) {
    const found = readFound(await call(INLINE_BYTES));
    if (found.body !== undefined || known.split(",").includes(found.tag)) return found;
  }
  return readFound(await call(null));
}

/** The cursor at the end of the page of a query, which a caller without queries does not get. */
const CURSOR = /(?<="hasMore":(?:true|false)),"next":(?:null|"[\w-]+")(?=\}$)/;
/** Longer than the cursor of a list. */
const END_BYTES = 256;

function withoutCursor({ tag, body }: FoundPage): FoundPage {
  if (body === undefined) return { tag, body };
  const start = Math.max(0, body.byteLength - END_BYTES);
  const end = new TextDecoder().decode(body.subarray(start));
  const [cursor] = CURSOR.exec(end) ?? [];
  if (cursor === undefined) return { tag, body };
  const plain = body.slice(0, body.byteLength - cursor.length);
  plain[plain.byteLength - 1] = CLOSING_BRACE;
  return { tag, body: plain };
}

/** The function's result: the tag, the page's identity, and the rows if they were sent. */
function readFound(found: Uint8Array<ArrayBuffer> | null): FoundPage {
  if (found === null) throw new Error("A list function returned nothing");
  const tag = ascii.decode(found.subarray(0, TAG_LENGTH));
  const start = found.indexOf(BRACE, TAG_LENGTH);
  return { tag, body: start < 0 ? undefined : found.subarray(start) };
}

const BRACE = "{".charCodeAt(0);
const CLOSING_BRACE = "}".charCodeAt(0);
const ascii = new TextDecoder();

/** A page of all rows in the order of creation, or a query. */
type AskedList = {
  readonly table: RecordedTable;
  readonly page: Page;
  readonly query: (ListQuery & { readonly isCounted: boolean }) | undefined;
};

const COUNTS = ["exact", "estimated"] as const;

/** @throws {Problem} invalid_query; unsupported_query; not_implemented */
export async function readAskedList(
  deps: DataDeps,
  context: KeyRequestContext,
  table: RecordedTable,
): Promise<AskedList> {
  if (!allowsQueries(deps, context.principal))
    return { table, page: readPage(context.query), query: undefined };
  const isCounted = COUNTS.some((count) => prefers(context.request, "count", count));
  const asked = await readCurrent(deps, context, table, readQuery);
  const query = asked.query.isPlain && !isCounted ? undefined : { ...asked.query, isCounted };
  return { table: asked.table, page: asked.query, query };
}

/** Issues name columns: reject only after the catalog is known to be current and the key is proven. */
export async function readCurrent<Query>(
  deps: DataDeps,
  context: KeyRequestContext,
  table: RecordedTable,
  read: (deps: DataDeps, context: KeyRequestContext, table: RecordedTable) => Query,
): Promise<{ table: RecordedTable; query: Query }> {
  try {
    return { table, query: read(deps, context, table) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  await proveKey(deps, context.principal, "data:read");
  const current = findCurrent(deps, context.principal, table.name);
  return { table: current, query: read(deps, context, current) };
}

function readQuery(
  deps: DataDeps,
  context: KeyRequestContext,
  { definition }: RecordedTable,
): ListQuery {
  const rule = toRuleConditions(definition, context.principal.person);
  return readListQuery(context.query, definition, toAppTables(deps, context), rule);
}

/** The tables whose rows a query can reach: for a person those that the role reads. */
export function toAppTables({ catalog }: DataDeps, { principal }: KeyRequestContext): AppTables {
  return {
    appId: principal.appId,
    find: (name) => {
      const table = catalog.findFor(principal, name);
      const view = table?.definition.served?.view;
      return view !== undefined && view.read === undefined ? undefined : table;
    },
  };
}

/**
 * The page of a list and its tag. Without a page, the caller has it. A page in memory is used only if the database confirms
 * its tag.
 */
export async function findListed(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, page: { limit, offset }, query }: AskedList,
  known: NamedTags | undefined,
): Promise<FoundBody> {
  const terms = query === undefined ? `${limit} ${offset}` : toQueryTerms(query);
  return await findCached(deps, context, { cacheKey: `${table.name} ${terms}`, known }, (tags) =>
    query === undefined
      ? findPage(deps, context, { table, limit, offset, tags })
      : findQueriedPage(deps, context, { table, query, tags }),
  );
}

export type FoundBody = { readonly tag: string; readonly page: TaggedBody | undefined };
type CacheUse = { readonly cacheKey: string; readonly known: NamedTags | undefined };

/** A body and its tag, from memory if the database confirms the tag. Without a page, the caller has it. */
async function findCached(
  { listCache }: DataDeps,
  { request, principal: { appId, person } }: KeyRequestContext,
  { cacheKey, known }: CacheUse,
  find: (tags: readonly string[]) => Promise<FoundPage>,
): Promise<FoundBody> {
  const encoding = readEncoding(request.headers.get("accept-encoding"));
  // People see different rows.
  const reader = person === undefined ? "" : `${person.id} ${person.role} `;
  const key = `${reader}${cacheKey} ${encoding}`;
  const stored = listCache.find(appId, key);
  const tags = [listTags(known), stored?.tag].filter((tag) => tag !== undefined);
  const { tag, body } = await find(tags);
  if (body === undefined) return { tag, page: stored };
  const page = { tag, ...(await encodeBody(body, encoding)) };
  listCache.keep(appId, key, page);
  return { tag, page };
}

function toQueryTerms(query: object): string {
  const text = JSON.stringify(query, (_, value) => (isTable(value) ? value.name : value));
  return Bun.CryptoHasher.hash("sha256", text, "base64");
}

/** A table of related rows. */
function isTable(value: unknown): value is RecordedTable {
  return typeof value === "object" && value !== null && "whole" in value;
}

type QueryCall = Pick<PageQuery, "table" | "tags"> & {
  readonly query: NonNullable<AskedList["query"]>;
  /** Whether walks of the person's rule have too many rows. */
  readonly isFound?: boolean;
};

/**
 * Finds the page of a query. A walk is as short as a list; another query is never pipelined: it can last half a second.
 *
 * @throws {Problem} needs_index — too many rows meet a condition on referenced rows; timeout
 */
async function findQueriedPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, query, tags, isFound = false }: QueryCall,
): Promise<FoundPage> {
  const { appId, person } = context.principal;
  const known = tags.join(",");
  const isKnown = (tag: string) => known.split(",").includes(tag);
  // No walk is on the nodes of a cluster.
  let hasWalks = !query.isCounted && !isFound && !deps.catalog.dialect().hasNodes;
  // Related rows cost more than the page, also if the caller has them.
  const isShort = (query.limit <= MAX_INLINE_ROWS || tags.length > 0) && query.related.length === 0;
  let inline = isShort ? INLINE_BYTES : null;
  const rest = { bytes: deps.maxResponseBytes, known };
  const counted = query.isCounted ? deps.maxCounted : undefined;
  const plan = (current: RecordedTable, isRenewed = true) => {
    // Another column set may lack a column of the query.
    const read = isRenewed ? readQuery(deps, context, current) : query;
    const related = [...listTables(read.related), ...listSetTables(read.where)];
    const options = { appId, person, bytes: deps.maxResponseBytes };
    const walk = hasWalks ? planSeenWalk(read, current, options) : undefined;
    if (walk !== undefined) {
      const uses = read.related.map((relation) => useOfRelated(relation, { appId, person }));
      const isUnindexed = uses.some(({ isServed }) => !isServed);
      const use = { isUnindexed, limitMs: deps.queryTimeoutS * 1000 };
      return { endpoint: "walk", values: { ...walk, ...rest, inline }, related, ...use } as const;
    }
    const planned = planFind(read, current, { ...options, counted });
    const values = { plan: planned.plan, values: planned.values, ...rest };
    return { endpoint: "find", values, related, ...toLimits(deps, planned) } as const;
  };
  for (;;) {
    const call = plan(table, false);
    try {
      const found = readFound(await callFunction(deps, context, { table, ...call, renew: plan }));
      if (
        call.endpoint === "find" ||
        inline === null ||
        found.body !== undefined ||
        isKnown(found.tag)
      )
        return found;
      inline = null;
    } catch (error) {
      if (
        call.endpoint !== "walk" ||
        !(error instanceof SignalError && OTHERWISE.has(error.signal))
      )
        throw explain(error, {
          ...{ table, where: query.where, person, ...call },
          explainSlow: (reason) => explainNeededIndex(query, table, { appId, person, reason }),
        });
      hasWalks = false;
    }
  }
}

/**
 * Errors of a walk whose page PostgreSQL finds by another way: the index is a deferred step of a push that is not built yet, or the person
 * has too many memberships.
 */
const OTHERWISE: ReadonlySet<string> = new Set([SIGNALS.indexMissing, SIGNALS.tooManyVisits]);

export type Limits = { readonly isUnindexed: boolean; readonly limitMs: number };

function toLimits(
  { queryTimeoutS, unindexed }: DataDeps,
  use: Pick<IndexUse, "isServed" | "hasIndex">,
): Limits {
  const timeoutMs = queryTimeoutS * 1000;
  const limitMs = use.hasIndex ? timeoutMs : Math.min(unindexed.timeoutMs, timeoutMs);
  return { isUnindexed: !use.isServed, limitMs };
}

/** Without limits, the call has the time of any. */
type Explained = Partial<Limits> & {
  readonly table: RecordedTable;
  readonly where: readonly Condition[];
  readonly person: Person | undefined;
  /** What would be faster than a query that no index serves, after the reason that it ended. */
  readonly explainSlow?: (reason: string) => string;
};

/** The error of a call that finds rows, with what would find them. */
export function explain(
  error: unknown,
  { table, where, person, isUnindexed, limitMs, explainSlow }: Explained,
): unknown {
  if (error instanceof SignalError && error.signal === SIGNALS.tooManyVisits)
    return explainSet(where, error.detail) ?? error;
  const isIndexed = isRuleIndexed(table, person);
  if (error instanceof UsedUpError) {
    const { reason, retryAfterS } = error;
    const message = isIndexed ? explainSlow?.(reason) : explainRule(toSentence(reason));
    return new Problem("rate_limited", {
      ...{ message: message ?? error.message, retryAfterS, cause: error },
    });
  }
  if (!isTimeout(error) || limitMs === undefined) return error;
  const advice = isUnindexed === true ? explainSlow?.(describeTime(table, limitMs)) : undefined;
  const message = isIndexed
    ? (advice ?? explainTimeout(limitMs))
    : explainRule(
        `The request took longer than ${toDurationText(limitMs / 1000)} and was canceled`,
      );
  return new Problem("timeout", { message, cause: error });
}

function isTimeout(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "timeout";
}

/**
 * The groups of a table's rows and their tag.
 *
 * @throws {Problem} invalid_query; unsupported_query; needs_index; too_many_groups; response_too_large; timeout; not_implemented
 */
export async function findGroups(
  deps: DataDeps,
  context: KeyRequestContext,
  named: RecordedTable,
  known: NamedTags | undefined,
): Promise<FoundBody> {
  const { table, query } = await readCurrent(deps, context, named, readGrouping);
  const cacheKey = `${table.name}/groups ${toQueryTerms(query)}`;
  return await findCached(deps, context, { cacheKey, known }, (tags) =>
    readGroups(deps, context, { table, query, tags }),
  );
}

function readGrouping(
  deps: DataDeps,
  context: KeyRequestContext,
  { definition }: RecordedTable,
): GroupQuery {
  const rule = toRuleConditions(definition, context.principal.person);
  const query = readGroupQuery(context.query, definition, toAppTables(deps, context));
  return { ...query, where: withRule(query.where, rule) };
}

type GroupsCall = Pick<PageQuery, "table" | "tags"> & { readonly query: GroupQuery };

async function readGroups(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, query, tags }: GroupsCall,
): Promise<FoundPage> {
  const { appId, person } = context.principal;
  const plan = (current: RecordedTable, isRenewed = true) => {
    const read = isRenewed ? readGrouping(deps, context, current) : query;
    const planned = planGroups(read, current, { appId, person });
    const rest = { bytes: deps.maxResponseBytes, known: tags.join(",") };
    const values = { plan: planned.plan, values: planned.values, ...rest };
    const related = listSetTables(read.where);
    return { endpoint: "find_groups", values, related, ...toLimits(deps, planned) } as const;
  };
  const call = plan(table, false);
  try {
    return readFound(await callFunction(deps, context, { table, ...call, renew: plan }));
  } catch (error) {
    const cut = error instanceof SignalError ? error.detail : undefined;
    throw (
      explainGroups(query, cut) ??
      explain(error, {
        ...{ table, where: query.where, person, ...call },
        explainSlow: (reason) => `Cannot group these rows, because ${reason}: ${NARROW}`,
      })
    );
  }
}
