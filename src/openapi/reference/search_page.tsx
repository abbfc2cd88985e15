/** @jsxImportSource #html @jsxRuntime automatic */
/** `/docs/search`: search results in the docs. The palette shows the same results over any page of the docs. @module */

import { compressResponse, type RequestContext, readParameters } from "../../http/mod.ts";
import { type Html, renderMarkdown, respondWithPage } from "../../pages/mod.ts";
import { PROBLEMS, toSentence } from "../../problem.ts";
import { foldSpelling } from "../../std/letter_case.ts";
import { makeDocument } from "../document.ts";
import { REFERENCE_PATH, SEARCH_PATH } from "../frame.tsx";
import { ALL_GUIDES, type Guide, readGuide, toGuidePath, toGuidesPage } from "../guides.tsx";
import type { Documents, OpenapiDeps } from "../routes.ts";
import { type Endpoint, listEndpoints } from "./endpoints.ts";

// Searches sections of the docs, endpoints and error codes: an index in memory, built on the first
// search. Every word must occur. A match in a heading, or in the synonyms below it (`<!-- also:
// pagination, paging -->`), ranks higher than a match in the text.

type DocsEntry = {
  readonly page: string;
  readonly title: string;
  readonly path: string;
  readonly text: string;
  /** Other words for its subject, separated by commas. */
  readonly also?: string;
};
type DocsHit = DocsEntry & { readonly excerpt: string };

type Section = { readonly level: number; readonly id: string; readonly text: string };

/** The sections of a guide, with the headings in document order. */
function toSections(
  { page, title }: Guide,
  markdown: string,
  headings: readonly Section[],
): DocsEntry[] {
  const sections = splitSections(markdown);
  return headings.map(({ id, level, text }, index) => ({
    page: title,
    title: text,
    path: level === 1 ? toGuidePath(page) : `${toGuidePath(page)}#${id}`,
    ...(sections[index] ?? { text: "" }),
  }));
}

const SYNONYMS = /<!-- also: (.*?) -->/;

/** The text below each heading, without comments and Markdown marks, and its synonyms. A `#` in code is not a heading. */
function splitSections(markdown: string): Pick<DocsEntry, "text" | "also">[] {
  const sections: string[][] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    else if (!isCode && /^#{1,6} /.test(line)) sections.push([]);
    else sections.at(-1)?.push(line);
  }
  return sections.map((lines) => {
    const section = lines.join(" ");
    const text = section
      .replace(/<!--.*?-->/g, "")
      .replace(/\]\([^)]*\)/g, "]")
      .replace(/[`*|[\]]|:?-{3,}:?/g, " ")
      .replace(/\s+/g, " ")
      .trim();
    return { text, also: SYNONYMS.exec(section)?.[1] ?? "" };
  });
}

function toEndpointEntries(endpoints: readonly Endpoint[]): DocsEntry[] {
  return endpoints.map(({ id, method, path, summary, about }) => ({
    page: "Endpoints",
    title: summary,
    path: `${REFERENCE_PATH}#${id}`,
    text: `${method} ${path} ${about}`.replaceAll("`", ""),
  }));
}

function listCodeEntries(): DocsEntry[] {
  return Object.entries(PROBLEMS).map(([code, { status, when }]) => ({
    page: "Errors",
    title: code,
    path: `${REFERENCE_PATH}#code-${code}`,
    text: `${status} ${toSentence(when)}`.replaceAll("`", ""),
  }));
}

const EXCERPT_CHARS = 140;
const MAX_TERMS = 8;
const MAX_HITS = 20;

type Folded = Readonly<Record<"title" | "page" | "text" | "synonyms", string>>;
type DocsIndex = readonly { readonly entry: DocsEntry; readonly folded: Folded }[];

/** Folds the letters of every entry once. */
function toIndex(entries: readonly DocsEntry[]): DocsIndex {
  return entries.map((entry) => ({
    entry,
    folded: {
      title: foldSpelling(entry.title),
      page: foldSpelling(entry.page),
      text: foldSpelling(entry.text),
      synonyms: foldSpelling(entry.also ?? ""),
    },
  }));
}

/** Results, best first; empty for a query without a word. */
function searchDocs(index: DocsIndex, query: string): DocsHit[] {
  const terms = foldSpelling(query)
    .split(/\s+/)
    .filter((term) => term !== "")
    .slice(0, MAX_TERMS);
  if (terms.length === 0) return [];
  return index
    .map(({ entry, folded }) => ({ entry, score: scoreEntry(folded, terms) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_HITS)
    .map(({ entry }) => ({ ...entry, excerpt: toExcerpt(entry.text, terms) }));
}

const WEIGHTS = { whole: 20, titleStart: 10, title: 6, synonym: 6, page: 3, text: 1 } as const;

/** 0 if a word is missing. */
function scoreEntry({ title, page, text, synonyms }: Folded, terms: readonly string[]): number {
  const whole = terms.join(" ");
  let score = title === whole || synonyms.split(", ").includes(whole) ? WEIGHTS.whole : 0;
  for (const term of terms) {
    const index = title.indexOf(term);
    const isStart = index === 0 || (index > 0 && /\W/.test(title.charAt(index - 1)));
    const found =
      (isStart ? WEIGHTS.titleStart : index > 0 ? WEIGHTS.title : 0) +
      (synonyms.includes(term) ? WEIGHTS.synonym : 0) +
      (page.includes(term) ? WEIGHTS.page : 0) +
      (text.includes(term) ? WEIGHTS.text : 0);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

/** The text around the first match, from the start of a word. */
function toExcerpt(text: string, terms: readonly string[]): string {
  const folded = foldSpelling(text);
  const positions = terms.map((term) => folded.indexOf(term)).filter((index) => index >= 0);
  const start = Math.max(0, Math.min(...positions, text.length) - EXCERPT_CHARS / 3);
  const from = positions.length === 0 || start === 0 ? 0 : text.indexOf(" ", start) + 1;
  const excerpt = text.slice(from, from + EXCERPT_CHARS).trim();
  return `${from > 0 ? "… " : ""}${excerpt}${from + EXCERPT_CHARS < text.length ? " …" : ""}`;
}

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

function listSections(): DocsEntry[] {
  return ALL_GUIDES.flatMap((guide) => {
    const markdown = readGuide(guide);
    const { headings } = renderMarkdown(markdown, { toTarget: () => undefined });
    return toSections(guide, markdown, headings);
  });
}

/** Finds sections of the guides by their headings and synonyms: for the Console, whose process has no description of the endpoints. */
export function makeGuideSearch(): (query: string) => readonly Omit<DocsEntry, "text">[] {
  let index: DocsIndex | undefined;
  return (query) => {
    index ??= toIndex(listSections().map((section) => ({ ...section, text: "" })));
    return searchDocs(index, query);
  };
}

function makeIndex({ routes, previews }: Documents): DocsIndex {
  const endpoints = listEndpoints(makeDocument(routes, { tables: undefined, previews }));
  return toIndex([...listSections(), ...toEndpointEntries(endpoints), ...listCodeEntries()]);
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
