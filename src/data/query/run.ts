/** Lists if `PREVIEW` contains `filters`: reads the query, and calls the function that finds the page. @module */

import { SIGNALS, SignalError } from "../../db/mod.ts";
import {
  encodeBody,
  type KeyRequestContext,
  listTags,
  type NamedTags,
  prefers,
  readEncoding,
  readParameters,
  type TaggedBody,
} from "../../http/mod.ts";
import type { Person } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { NO_WALK, type RecordedTable, TAG_LENGTH } from "../../tables/catalog/mod.ts";
import { callFunction, findCurrent } from "../call.ts";
import type { DataDeps } from "../deps.ts";
import { proveKey } from "../prove_key.ts";
import type { AppTables } from "./filter.ts";
import { explainGroups, type GroupQuery, planGroups, readGroupQuery } from "./group_query.ts";
import { readListQuery } from "./list_query.ts";
import {
  type Exceeded,
  explainNeededIndex,
  explainRuleTimeout,
  explainSet,
  explainTimeout,
} from "./needed_index.ts";
import { planQuery } from "./plan.ts";
import { type ListQuery, ONLY_PAGES, type Page, readPage } from "./query.ts";
import { listSetTables } from "./referenced.ts";
import { listTables } from "./related.ts";
import { isRuled, isRuleServed, toRuleConditions, withRule } from "./rule_conditions.ts";
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

/** A person whose rule has too many rows or memberships for the walks of a list gets the page of a query. */
async function findPage(
  deps: DataDeps,
  context: KeyRequestContext,
  asked: PageQuery,
): Promise<FoundPage> {
  const page = await walkPage(deps, context, asked).catch(async (error: unknown) => {
    if (!(error instanceof SignalError) || error.signal !== SIGNALS.tooManyVisits) throw error;
    const { table, tags } = asked;
    const query = { ...readQuery(deps, context, table), isCounted: false };
    return await findQueriedPage(deps, context, { table, tags, query, isFound: true });
  });
  return deps.previews.includes("filters") ? page : withoutCursor(page);
}

async function walkPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, limit, offset, tags }: PageQuery,
): Promise<FoundPage> {
  const known = tags.join(",");
  const { person } = context.principal;
  // An API key reads no other rows than those of the page.
  const limits =
    person && limitQuery(deps, table, { person, isUnindexed: !isRuleServed(table, person) });
  const call = async (inline: number | null) => {
    const values = { limit, offset, bytes: deps.maxResponseBytes, known, inline };
    const sent = callFunction(deps, context, { table, endpoint: "list", values, ...limits });
    return await sent.catch((error: unknown) => {
      throw limits === undefined || !isTimeout(error)
        ? error
        : toTimeout(error, { table, person, query: { where: [] }, ...limits });
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

/** The cursor at the end of a page, which a process without the preview `filters` does not send. */
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
  const isOn = deps.previews.includes("filters");
  const { lacks } = deps.catalog.dialect();
  if (!isOn || lacks !== undefined) {
    if (isOn && lacks !== undefined) rejectQueries(context.query, lacks.conditions);
    return { table, page: readPage(context.query), query: undefined };
  }
  const isCounted = COUNTS.some((count) => prefers(context.request, "count", count));
  const asked = await readCurrent(deps, context, table, readQuery);
  const query = asked.query.isPlain && !isCounted ? undefined : { ...asked.query, isCounted };
  return { table: asked.table, page: asked.query, query };
}

/** @throws {Problem} not_implemented — for anything but a page */
function rejectQueries(query: string, where: string): void {
  for (const [name] of readParameters(query))
    if (name !== "limit" && name !== "offset")
      throw new Problem("not_implemented", { message: `${where} ${ONLY_PAGES}` });
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
  /** See `PathOptions.isFound`. */
  readonly isFound?: boolean;
};

/**
 * Finds the page of a query. A walk is as short as a list; another query is never pipelined: it can last half a second.
 *
 * @throws {Problem} needs_index — a complete page would exceed the max visits or the max work; timeout
 */
async function findQueriedPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, query, tags, isFound = false }: QueryCall,
): Promise<FoundPage> {
  if (!isFound && query.offset >= deps.maxVisits)
    throw new Problem("unsupported_query", {
      message: `The offset must be below ${deps.maxVisits}: continue with after`,
    });
  const missing = new Set<string>();
  const { appId, person } = context.principal;
  const options = {
    ...{ appId, person, missing, isCounted: query.isCounted },
    ...{ isUnselective: false, isFound },
    counted: deps.maxCounted,
    ...{ visits: deps.maxVisits, work: deps.maxWork, bytes: deps.maxResponseBytes },
  };
  const known = tags.join(",");
  const isKnown = (tag: string) => known.split(",").includes(tag);
  // Related rows cost more than the page, also if the caller has them.
  const isShort = (query.limit <= MAX_INLINE_ROWS || tags.length > 0) && query.related.length === 0;
  let inline = isShort ? INLINE_BYTES : null;
  const sent = makeUnsent();
  const plan = (current: RecordedTable, isRenewed = true) => {
    // Another column set may lack a column of the query.
    const read = isRenewed ? readQuery(deps, context, current) : query;
    const rest = { bytes: deps.maxResponseBytes, known };
    const related = [...listTables(read.related), ...listSetTables(read.where)];
    const hasWalks = !query.isCounted && !missing.has(NO_WALK) && !options.isFound;
    const walk = hasWalks ? planSeenWalk(read, current, options) : undefined;
    if (walk !== undefined) {
      const limitMs = deps.queryTimeoutMs;
      Object.assign(sent, makeUnsent(), { index: walk.index, limitMs });
      const values = { ...walk, ...rest, inline };
      return { endpoint: "walk", values, related, limitMs } as const;
    }
    const { index, isSelective, isUnindexed, ...planned } = planQuery(read, current, options);
    const limits = limitQuery(deps, current, { person, isUnindexed });
    Object.assign(sent, { index, isSelective, ...limits });
    return { endpoint: "find", values: { ...planned, ...rest }, related, ...limits } as const;
  };
  const explain = (exceeded: Exceeded) => {
    const message = explainNeededIndex(query, table, { appId, person, missing, ...exceeded });
    return new Problem("needs_index", { message });
  };
  return await repeatPlanned({ table, query, options, sent, explain }, async () => {
    for (;;) {
      const call = { table, ...plan(table, false), renew: plan };
      const found = readFound(await callFunction(deps, context, call));
      if (inline === null || found.body !== undefined || isKnown(found.tag)) return found;
      inline = null;
    }
  });
}

/** What a call needs of the plan that it sends: a newer table may have another index. */
export type SentPlan = {
  index: string | undefined;
  isSelective: boolean;
  isUnindexed: boolean;
  /** Absent without a limit of its own. */
  limitMs: number | undefined;
};

export function makeUnsent(): SentPlan {
  return { index: undefined, isSelective: false, isUnindexed: false, limitMs: undefined };
}

/** The time limit of a query. A person whose rule has an index reads the rows of that index. */
function limitQuery(
  { queryTimeoutMs, unindexed }: DataDeps,
  table: RecordedTable,
  { person, isUnindexed }: { person: Person | undefined; isUnindexed: boolean },
): { isUnindexed: boolean; limitMs: number } {
  const hasIndex =
    !isUnindexed || (isRuled(table.definition, person) && isRuleServed(table, person));
  const limitMs = hasIndex ? queryTimeoutMs : Math.min(unindexed.timeoutMs, queryTimeoutMs);
  return { isUnindexed, limitMs };
}

type Repeated = {
  readonly table: RecordedTable;
  readonly query: Pick<ListQuery, "where">;
  readonly options: {
    readonly appId: string;
    readonly person: Person | undefined;
    readonly missing: Set<string>;
    isUnselective: boolean;
    isFound: boolean;
  };
  readonly sent: SentPlan;
  /** What would find the rows, by the exceeded limit. */
  readonly explain: (exceeded: Exceeded) => Problem;
  /** Whether PostgreSQL finds the rows if a walk visits too many; defaults to true. */
  readonly canFind?: boolean;
};

/** The limits of walks. */
const VISITS: ReadonlySet<string | undefined> = new Set(["visits", "text", "members"]);

function isTimeout(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "timeout";
}

type TimedOut = Pick<SentPlan, "isUnindexed" | "limitMs"> &
  Pick<Repeated, "table" | "query"> & {
    readonly person: Person | undefined;
    readonly explain?: Repeated["explain"];
  };

/** The timeout of a call with a limit of its own, with what would be faster. */
function toTimeout(
  cause: Problem,
  { table, person, query, isUnindexed, limitMs, explain }: TimedOut,
): Problem {
  if (limitMs === undefined) return cause;
  const advice = isUnindexed ? explain?.({ limitMs }).message : undefined;
  const message = isRuleServed(table, person)
    ? (advice ?? explainTimeout(query, limitMs))
    : explainRuleTimeout(limitMs);
  return new Problem("timeout", { message, cause });
}

/**
 * Calls again with another plan if an index is missing, or if a walk visited too many rows: then PostgreSQL finds the rows among all,
 * and only the time of the call limits it.
 *
 * @throws {Problem} needs_index; timeout — with what would be faster
 */
export async function repeatPlanned<Found>(
  { table, query, options, sent, explain, canFind = true }: Repeated,
  call: () => Promise<Found>,
): Promise<Found> {
  const { appId, person, missing } = options;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (isTimeout(error)) throw toTimeout(error, { table, person, query, explain, ...sent });
      const { signal, detail } = error instanceof SignalError ? error : {};
      if (signal === SIGNALS.tooManyVisits) {
        const problem = explainSet(query.where, { appId, person, cut: detail, missing });
        if (problem !== undefined) throw problem;
        // Too many rows fulfill the condition: another path visits them page by page.
        if (sent.isSelective && !options.isUnselective) options.isUnselective = true;
        else if (VISITS.has(detail) && canFind && !options.isFound) options.isFound = true;
        else throw explain({ cut: detail });
        continue;
      }
      // The detail names an index of related rows, or that the function has no walk along the index.
      const found = signal === SIGNALS.indexMissing ? (detail ?? sent.index) : undefined;
      if (found === undefined) throw error;
      // The index is a deferred step of a push: the query runs without it until it is built.
      missing.add(found);
    }
  }
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
  const { lacks } = deps.catalog.dialect();
  if (lacks !== undefined)
    throw new Problem("not_implemented", { message: `${lacks.conditions} rows cannot be grouped` });
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
  const missing = new Set<string>();
  const { appId, person } = context.principal;
  const options = { appId, person, missing, isUnselective: false, isFound: false };
  const sent = makeUnsent();
  const plan = (current: RecordedTable, isRenewed = true) => {
    const read = isRenewed ? readGrouping(deps, context, current) : query;
    const { index, isUnindexed, ...planned } = planGroups(read, current, {
      ...options,
      ...{ visits: deps.maxCounted, setVisits: deps.maxVisits, work: deps.maxWork },
    });
    const limits = limitQuery(deps, current, { person, isUnindexed });
    Object.assign(sent, { index, ...limits });
    const rest = { bytes: deps.maxResponseBytes, known: tags.join(",") };
    const related = listSetTables(read.where);
    return {
      endpoint: "find_groups",
      values: { ...planned, ...rest },
      related,
      ...limits,
    } as const;
  };
  const explain = (exceeded: Exceeded) => explainGroups(query, table, exceeded);
  return await repeatPlanned({ table, query, options, sent, explain }, async () => {
    const call = { table, ...plan(table, false), renew: plan };
    return readFound(await callFunction(deps, context, call));
  });
}
