/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The reference for people, `GET /docs`: the description of the API as pages; with a key, of exactly its app's
 * tables, each on its own page. The page sends nothing to third parties, and runs only this service's script.
 *
 * @module
 */
import { proveKey } from "../../data/mod.ts";
import { compressResponse, type OptionalKeyContext, type Route } from "../../http/mod.ts";
import { type Html, respondWithPage } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { makeDocument } from "../document.ts";
import { REFERENCE_PATH, SEARCH_PATH } from "../frame.tsx";
import type { Documents, OpenapiDeps } from "../routes.ts";
import {
  type Groups,
  groupEndpoints,
  renderCodes,
  renderGroups,
  renderKeyless,
  renderStart,
  renderTable,
} from "./content.tsx";
import { type ReferencePage, TABLE_PATH, toReferencePage } from "./page_view.tsx";
import { handleDocsSearch } from "./search_page.tsx";

export const referenceRoutes: readonly Route<OpenapiDeps>[] = [
  { method: "GET", path: REFERENCE_PATH, access: "optional-key", handle: handleStart },
  { method: "GET", path: TABLE_PATH, access: "optional-key", handle: handleTable },
  { method: "GET", path: SEARCH_PATH, access: "open", handle: handleDocsSearch },
];

async function handleStart(deps: OpenapiDeps, context: OptionalKeyContext): Promise<Response> {
  const tables = (await listTables(deps, context))?.map(({ name }) => name);
  const { groups, endpoints } = findShared(deps.documents, tables);
  const content = renderStart({ endpoints, tables });
  return await respond(context, { title: "API reference", tables, groups, content });
}

async function handleTable(deps: OpenapiDeps, context: OptionalKeyContext): Promise<Response> {
  const tables = await listTables(deps, context);
  const { groups } = findShared(deps.documents, tables);
  const page = { tables: tables?.map(({ name }) => name), groups };
  if (tables === undefined)
    return await respond(context, { ...page, title: "API reference", content: renderKeyless() });
  const table = tables.find(({ name }) => name === context.params["table"]);
  if (table === undefined) throw new Problem("unknown_table");
  const { name } = table;
  const { routes, previews } = deps.documents;
  const document = makeDocument(routes, { tables: [table], previews });
  const endpoints = groupEndpoints(document).get("rows") ?? [];
  return await respond(context, {
    ...page,
    title: `${name} · API reference`,
    table: { name, endpoints },
    content: renderTable(name, endpoints),
  });
}

type Shared = { readonly groups: Groups; readonly endpoints: Html };

const created = new WeakMap<Documents, ReturnType<typeof makeShared>>();

/** The shared page, built once. With a key, each table has its endpoints on its own page. */
function findShared(documents: Documents, tables: readonly unknown[] | undefined): Shared {
  const found = created.getOrInsertComputed(documents, makeShared);
  return tables === undefined ? found.keyless : found.keyed;
}

function makeShared({ routes, previews }: Documents) {
  const all = groupEndpoints(makeDocument(routes, { tables: undefined, previews }));
  const others = groupEndpoints(makeDocument(routes, { tables: [], previews }));
  const codes = renderCodes();
  const toShared = (groups: Groups): Shared => ({
    groups,
    endpoints: (
      <>
        {renderGroups(groups)}
        {codes}
      </>
    ),
  });
  return { keyless: toShared(all), keyed: toShared(others) };
}

/** The tables of the key's app; `undefined` without a key. */
async function listTables(deps: OpenapiDeps, { principal }: OptionalKeyContext) {
  if (principal === undefined) return undefined;
  await proveKey(deps, principal);
  return deps.catalog.tablesOf(principal.appId);
}

/** The page contains no secret next to input that a stranger controls, so it can be compressed. */
async function respond({ request }: OptionalKeyContext, page: ReferencePage): Promise<Response> {
  return await compressResponse(respondWithPage(toReferencePage(page)), request);
}
