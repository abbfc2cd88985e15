/**
 * `GET /v1/openapi.json`: the description of the API; with a key, of exactly the tables that its app declares. Built once
 * per state of the tables, and served from memory.
 *
 * @module
 */

import { type ListCache, makeListCache, proveKey } from "../data/mod.ts";
import type { Database } from "../db/mod.ts";
import {
  type Encoding,
  encodeBody,
  IF_NONE_MATCH,
  isNamed,
  NOT_MODIFIED,
  type Operation,
  type OptionalKeyContext,
  type Route,
  readEncoding,
  readIfNoneMatch,
  rejectQuery,
  respondNotModified,
  respondTagged,
  type TaggedBody,
} from "../http/mod.ts";
import type { Preview } from "../preview.ts";
import { Problem } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import { finishInPieces, type InPieces } from "../std/give_way.ts";
import { isObject } from "../std/json.ts";
import type { Catalog } from "../tables/catalog/mod.ts";
import { type Document, makeDocumentInPieces } from "./document.ts";
import type { DescribedRoute } from "./rejections.ts";
import { OPENAPI_PATH } from "./table_keyword.ts";

const CACHE_BYTES = 33_554_432;

export type OpenapiDeps = { db: Database; catalog: Catalog; documents: Documents };

/** The described routes, and recent documents. */
export type Documents = {
  readonly routes: readonly DescribedRoute[];
  readonly previews: readonly Preview[];
  readonly maxBatchBytes: number;
  readonly cache: ListCache;
  /** Documents that are being built, by app and state of its tables. */
  readonly begun: Map<string, Promise<TaggedBody>>;
};

export function makeDocuments(
  routes: readonly DescribedRoute[],
  options: Pick<Documents, "previews" | "maxBatchBytes">,
): Documents {
  return { routes, ...options, cache: makeListCache(CACHE_BYTES), begun: new Map() };
}

const OPERATION: Operation = {
  id: "get_openapi",
  group: "service",
  summary: "Get this description; with a key, the description of its app's tables",
  parameters: [IF_NONE_MATCH],
  responses: [
    { status: 200, when: "An OpenAPI document.", bodies: [{ type: "object" }], headers: ["ETag"] },
    NOT_MODIFIED,
  ],
  problems: [
    "invalid_query",
    "unsupported_query",
    "invalid_precondition",
    "response_too_large",
    "overloaded",
    "timeout",
  ],
};

export const openapiRoutes: readonly Route<OpenapiDeps>[] = [
  {
    method: "GET",
    path: OPENAPI_PATH,
    access: "optional-key",
    operation: OPERATION,
    handle: handleDocument,
  },
];

async function handleDocument(
  deps: OpenapiDeps,
  { request, query, principal }: OptionalKeyContext,
): Promise<Response> {
  rejectQuery(query);
  const known = readIfNoneMatch(request);
  if (principal !== undefined) await proveKey(deps, principal);
  const encoding = readEncoding(request.headers.get("accept-encoding"));
  const appId = principal?.appId;
  const packed = await findPacked(deps, appId);
  const { tag } = packed;
  if (isNamed(known, tag)) return respondNotModified(tag, known);
  return respondTagged(await unpack(deps, packed, { appId, encoding }));
}

/**
 * The compressed document: small enough to cache for any number of tables.
 *
 * @throws {Problem} response_too_large — the app declares more than one document can describe
 */
async function findPacked(
  { catalog, documents: { routes, previews, maxBatchBytes, cache, begun } }: OpenapiDeps,
  appId: string | undefined,
): Promise<TaggedBody> {
  const tables = appId === undefined ? undefined : catalog.tablesOf(appId);
  const declared = (tables ?? []).map(toDisplayed);
  const terms = declared.map(({ number }) => number).join(",");
  const found = cache.find(appId ?? "", terms);
  if (found !== undefined) return found;
  if (declared.reduce((sum, { chars }) => sum + chars, 0) > MAX_DECLARED_CHARS)
    throw new Problem("response_too_large", { message: TOO_LARGE });
  return await begun.getOrInsertComputed(`${appId} ${terms}`, async (name) => {
    try {
      const made = makeDocumentInPieces(routes, { tables, previews, maxBatchBytes });
      const { body, tag } = await finishInPieces(writeInPieces(made));
      const packed = new Uint8Array(await Bun.zstdCompress(body, { level: 1 }));
      const created = { tag, encoding: "zstd", body: packed } as const;
      cache.keep(appId ?? "", terms, created);
      return created;
    } finally {
      begun.delete(name);
    }
  });
}

/** The document as JSON, and the tag of this text. */
function* writeInPieces(made: InPieces<Document>): InPieces<{ body: Uint8Array; tag: string }> {
  const encoder = new TextEncoder();
  const hash = new Bun.CryptoHasher("sha256");
  const parts: Uint8Array[] = [];
  for (const text of writeMembers(yield* made, DEPTH)) {
    const part = encoder.encode(text);
    hash.update(part);
    parts.push(part);
    yield;
  }
  return { body: Buffer.concat(parts), tag: hash.digest("base64url") };
}

/** Paths and components are members of members. */
const DEPTH = 3;

/** The JSON of an object, member by member down to this depth. */
function* writeMembers(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || !isObject(value)) return yield JSON.stringify(value);
  let start = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${start}${JSON.stringify(name)}:`;
    yield* writeMembers(member, depth - 1);
    start = ",";
  }
  yield start === "{" ? "{}" : "}";
}

/** The tables' declarations as JSON, with a limit: their description is several times as long. */
const MAX_DECLARED_CHARS = 2_097_152;
const TOO_LARGE =
  "This app has too many tables for one description: request the description without a key, which describes any table";

async function unpack(
  { documents: { cache } }: OpenapiDeps,
  packed: TaggedBody,
  { appId, encoding }: { appId: string | undefined; encoding: Encoding | undefined },
): Promise<TaggedBody> {
  if (encoding === packed.encoding) return packed;
  const terms = `${packed.tag} ${encoding}`;
  const found = cache.find(appId ?? "", terms);
  if (found !== undefined) return found;
  const body = new Uint8Array(await Bun.zstdDecompress(packed.body));
  const created = { tag: packed.tag, ...(await encodeBody(body, encoding)) };
  cache.keep(appId ?? "", terms, created);
  return created;
}

type DisplayedTable = { number: number; chars: number };

const displayed = new WeakMap<TableDefinition, DisplayedTable>();
let last = 0;

/** A cached number and length per definition: a change of the served columns creates a new object. */
function toDisplayed(definition: TableDefinition): DisplayedTable {
  return displayed.getOrInsertComputed(definition, () => {
    last += 1;
    return { number: last, chars: JSON.stringify(definition).length };
  });
}
