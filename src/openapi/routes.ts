/**
 * `GET /v1/openapi.json`: the description of the API; with a key, of exactly the tables that its app has declared. Made once
 * for the tables as they are, and answered from memory.
 *
 * @module
 */
import type { Catalog } from "../catalog/mod.ts";
import { type ListCache, makeListCache } from "../data/mod.ts";
import { type Database, SIGNALS, SignalError } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import {
  answerBytes,
  answerEmpty,
  encodeBody,
  IF_NONE_MATCH,
  isNamed,
  keyRefused,
  type Operation,
  type OptionalKeyContext,
  type Route,
  readEncoding,
  readIfNoneMatch,
  refuseQuery,
  tagHeader,
} from "../http/mod.ts";
import type { Principal } from "../principal.ts";
import type { DescribedRoute } from "./described_route.ts";
import { makeDocument } from "./document.ts";

const OPENAPI_PATH = "/v1/openapi.json";

/** How much memory documents may take. */
const CACHE_BYTES = 33_554_432;

export type OpenapiDeps = { db: Database; catalog: Catalog; documents: Documents };

/** The routes that are described, and what was made of them lately. */
export type Documents = { readonly routes: readonly DescribedRoute[]; readonly cache: ListCache };

export function makeDocuments(routes: readonly DescribedRoute[]): Documents {
  return { routes, cache: makeListCache(CACHE_BYTES) };
}

const OPERATION: Operation = {
  id: "get_openapi",
  group: "service",
  summary: "Get this description; with a key, of the tables that its app has declared",
  parameters: [IF_NONE_MATCH],
  answers: [
    { status: 200, when: "An OpenAPI document.", bodies: [{ type: "object" }], headers: ["ETag"] },
    { status: 304, when: "What `If-None-Match` names is still right.", headers: ["ETag"] },
  ],
  problems: ["invalid_query", "unsupported_query", "invalid_precondition", "overloaded", "timeout"],
};

export const openapiRoutes: readonly Route<OpenapiDeps>[] = [
  {
    method: "GET",
    path: OPENAPI_PATH,
    access: "optional-key",
    operation: OPERATION,
    handle: answerDocument,
  },
];

const HEADERS = {
  "cache-control": "private, no-cache",
  vary: "Authorization, Accept-Encoding, Origin",
} as const;

async function answerDocument(
  deps: OpenapiDeps,
  { request, query, principal }: OptionalKeyContext,
): Promise<Response> {
  refuseQuery(query);
  const known = readIfNoneMatch(request);
  if (principal !== undefined) await proveKey(deps, principal);
  const encoding = readEncoding(request.headers.get("accept-encoding"));
  const { tag, ...page } = await findDocument(deps, { appId: principal?.appId, encoding });
  if (isNamed(known, tag))
    return answerEmpty({ status: 304, headers: { ...HEADERS, etag: tagHeader(tag, known) } });
  const form = page.encoding === undefined ? {} : { "content-encoding": page.encoding };
  const etag = page.encoding === undefined ? `"${tag}"` : `"${tag}-${page.encoding}"`;
  return answerBytes(page.body, { headers: { ...HEADERS, ...form, etag } });
}

/**
 * The database believes keys, not processes: what an app declares is told to a proven key only. The same statement says
 * whether the catalog is current: another process may have just pushed.
 */
async function proveKey({ db, catalog }: OpenapiDeps, principal: Principal): Promise<void> {
  const { appId, proof } = principal;
  try {
    const [row] = await db.query<{ version: string }>(
      `select version::text as version from rowhouse.versions
      where name = 'catalog' and rowhouse.check_key($1, $2) is not null`,
      [appId, proof],
      { retry: "safe", queue: appId },
    );
    if (Number(row?.version) !== catalog.version()) await catalog.refresh();
  } catch (error) {
    const isRefused = error instanceof SignalError && error.signal === SIGNALS.keyRefused;
    throw isRefused ? keyRefused(error) : error;
  }
}

type Wanted = { appId: string | undefined; encoding: ReturnType<typeof readEncoding> };

async function findDocument(
  { catalog, documents: { routes, cache } }: OpenapiDeps,
  { appId, encoding }: Wanted,
) {
  const tables = appId === undefined ? undefined : catalog.tablesOf(appId);
  const words = `${encoding} ${(tables ?? []).map(numberOf).join(",")}`;
  const found = cache.find(appId ?? "", words);
  if (found !== undefined) return found;
  const body = new TextEncoder().encode(JSON.stringify(makeDocument(routes, { tables })));
  const tag = new Bun.CryptoHasher("sha256").update(body).digest("base64url");
  const made = { tag, ...(await encodeBody(body, encoding)) };
  cache.keep(appId ?? "", words, made);
  return made;
}

const numbers = new WeakMap<TableDefinition, number>();
let last = 0;

/** A definition's own number: what an app is served is another object once it has changed. */
function numberOf(definition: TableDefinition): number {
  const found = numbers.get(definition);
  if (found !== undefined) return found;
  last += 1;
  numbers.set(definition, last);
  return last;
}
