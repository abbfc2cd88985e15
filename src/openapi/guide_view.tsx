/** @jsxImportSource #html @jsxRuntime automatic */
/** The pages of `docs/` for people: text next to the list of all pages. @module */
import { type Heading, type Html, type Page, renderMarkdown, type Target } from "../pages/mod.ts";
import {
  ALL_GUIDES,
  GUIDES,
  type Guide,
  LLMS_PATH,
  OPERATORS_GUIDES,
  toGuidePath,
  toMarkdownPath,
} from "./guides.ts";
import { type Entry, REFERENCE_PATH, renderFrame, renderMenuGroup } from "./reference/frame.tsx";

export function toGuidePage(guide: Guide, markdown: string): Page {
  const { content, headings } = renderMarkdown(markdown, { toTarget });
  const body = (
    <>
      <div class="guide-page">
        {renderContents(headings)}
        <article class="guide">{content}</article>
      </div>
      {renderNeighbors(guide)}
    </>
  );
  return toGuidesPage(guide.title, body, guide);
}

/** A page next to the list of guides: one of them, or the search. */
export function toGuidesPage(title: string, content: Html, guide?: Guide): Page {
  return {
    title,
    width: "own",
    styles: ["reference", "guide"],
    scripts: ["guide"],
    body: renderFrame({ name: "Guides", menu: renderMenu(guide), content }),
  };
}

const LINK = /^(\w+)\.md(#.*)?$/;

/** Rewrites links to other pages. Files that exist only in the repository have no URL here. */
function toTarget(href: string): Target | undefined {
  if (/^(#|https:)/.test(href)) return { href };
  const [, page = "", anchor = ""] = LINK.exec(href) ?? [];
  const guide = ALL_GUIDES.find((guide) => guide.page === page);
  return guide && { href: `${toGuidePath(guide.page)}${anchor}`, title: guide.title };
}

/** The contents of the page, in two levels. */
function renderContents(headings: readonly Heading[]): Html | undefined {
  const listed = headings.filter(({ level }) => level === 2 || level === 3);
  if (listed.length < 2) return undefined;
  return (
    <nav class="contents" aria-labelledby="contents">
      <p id="contents">On this page</p>
      <ul>
        {listed.map(({ level, id, text }) => (
          <li class={`level-${level}`}>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function renderMenu(guide: Guide | undefined): Html {
  const toEntry = ({ page, title }: Guide): Entry => ({
    name: title,
    path: toGuidePath(page),
    isCurrent: page === guide?.page,
  });
  return (
    <>
      {renderMenuGroup("Reference", [{ name: "API reference", path: REFERENCE_PATH }])}
      {renderMenuGroup("Guides", GUIDES.map(toEntry))}
      {renderMenuGroup("For operators", OPERATORS_GUIDES.map(toEntry))}
      {guide !== undefined &&
        renderMenuGroup("For tools", [
          { name: "This page as Markdown", path: toMarkdownPath(guide.page) },
          { name: "llms.txt", path: LLMS_PATH },
        ])}
    </>
  );
}

function renderNeighbors({ page }: Guide): Html {
  const position = ALL_GUIDES.findIndex((guide) => guide.page === page);
  const [before, after] = [ALL_GUIDES[position - 1], ALL_GUIDES[position + 1]];
  return (
    <nav class="neighbors" aria-label="Other guides">
      {before !== undefined && (
        <a rel="prev" href={toGuidePath(before.page)}>
          <span class="quiet">Previous</span> {before.title}
        </a>
      )}{" "}
      {after !== undefined && (
        <a rel="next" href={toGuidePath(after.page)}>
          <span class="quiet">Next</span> {after.title}
        </a>
      )}
    </nav>
  );
}
