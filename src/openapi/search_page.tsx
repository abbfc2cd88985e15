/** @jsxImportSource #html @jsxRuntime automatic */
/** `/docs/search`: search results in the docs. The palette shows the same results over any page of the docs. @module */
import { compressResponse, type RequestContext, readParameters } from "../http/mod.ts";
import { type Html, renderMarkdown, respondWithPage } from "../pages/mod.ts";
import {
  type DocsHit,
  type DocsIndex,
  listCodeEntries,
  searchDocs,
  toEndpointEntries,
  toIndex,
  toSections,
} from "./docs_index.ts";
import { makeDocument } from "./document.ts";
import { toGuidesPage } from "./guide_view.tsx";
import { ALL_GUIDES, readGuide } from "./guides.ts";
import { listEndpoints } from "./reference/endpoints.ts";
import { SEARCH_PATH } from "./reference/frame.tsx";
import type { Documents, OpenapiDeps } from "./routes.ts";

const MAX_CHARS = 100;

const indexes = new WeakMap<Documents, DocsIndex>();

/** The same for every visitor: without a key, and without the tables of any app. */
export async function handleDocsSearch(
  { documents }: Pick<OpenapiDeps, "documents">,
  { query, request }: RequestContext,
): Promise<Response> {
  const index = indexes.getOrInsertComputed(documents, makeIndex);
  const terms = readTerms(query);
  const hits = searchDocs(index, terms);
  const page = toGuidesPage("Search", renderResults(terms, hits));
  return await compressResponse(respondWithPage(page), request);
}

function makeIndex({ routes, previews }: Documents): DocsIndex {
  const guides = ALL_GUIDES.flatMap((guide) => {
    const markdown = readGuide(guide);
    const { headings } = renderMarkdown(markdown, { toTarget: () => undefined });
    return toSections(guide, markdown, headings);
  });
  const endpoints = listEndpoints(makeDocument(routes, { tables: undefined, previews }));
  return toIndex([...guides, ...toEndpointEntries(endpoints), ...listCodeEntries()]);
}

function readTerms(query: string): string {
  const given = new Map(readParameters(query)).get("q") ?? "";
  return given.replaceAll("\0", "").trim().slice(0, MAX_CHARS);
}

function renderResults(terms: string, hits: readonly DocsHit[]): Html {
  const groups = Map.groupBy(hits, ({ page }) => page);
  return (
    <>
      <h1>Search</h1>
      <form class="search" method="get" action={SEARCH_PATH} role="search" aria-label="Words">
        <input
          type="text"
          name="q"
          value={terms}
          maxlength={MAX_CHARS}
          aria-label="Words"
          autocomplete="off"
          spellcheck="false"
          autocapitalize="none"
        />
        <button class="button button-primary" type="submit">
          Search
        </button>
      </form>
      {terms !== "" && hits.length === 0 && <p>No pages found that contain all of these words.</p>}
      {[...groups].map(([name, found]) => (
        <section class="found" data-found={name}>
          <h2>{name}</h2>
          <ul>
            {found.map(({ title, path, excerpt }) => (
              <li>
                <a href={path}>{title}</a> <span class="quiet">{excerpt}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
