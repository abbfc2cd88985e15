/** A page of `docs/` for people: its text beside the list of all pages. @module */
import {
  type Heading,
  type Html,
  html,
  type Page,
  renderMarkdown,
  type Target,
} from "../pages/mod.ts";
import {
  GUIDES,
  type Guide,
  LLMS_PATH,
  OPERATORS_GUIDES,
  toGuidePath,
  toMarkdownPath,
} from "./guides.ts";
import { type Entry, REFERENCE_PATH, renderFrame, renderMenuGroup } from "./reference/frame.ts";

const ALL: readonly Guide[] = [...GUIDES, ...OPERATORS_GUIDES];

export function toGuidePage(guide: Guide, markdown: string): Page {
  const { content, headings } = renderMarkdown(markdown, { toTarget });
  return {
    title: guide.title,
    width: "own",
    styles: ["reference", "guide"],
    scripts: ["guide"],
    body: renderFrame({
      name: "Guides",
      menu: renderMenu(guide, headings),
      content: html`<article class="guide">
${content}</article>
${renderNext(guide)}`,
    }),
  };
}

const LINK = /^(\w+)\.md(#.*)?$/;

/** Links on the page and to other pages lead there; what is in the repository alone has no address here. */
function toTarget(href: string): Target | undefined {
  if (/^(#|https:)/.test(href)) return { href };
  const [, page = "", place = ""] = LINK.exec(href) ?? [];
  const guide = ALL.find((guide) => guide.page === page);
  return guide && { href: `${toGuidePath(guide.page)}${place}`, title: guide.title };
}

function renderMenu(guide: Guide, headings: readonly Heading[]): Html {
  const parts = headings
    .filter(({ level }) => level === 2)
    .map(({ id, text }) => ({ name: text, path: `#${id}` }));
  const toEntry = ({ page, title }: Guide): Entry => {
    const entry = { name: title, path: toGuidePath(page) };
    return page === guide.page ? { ...entry, isCurrent: true, parts } : entry;
  };
  return html`${renderMenuGroup("Reference", [{ name: "API reference", path: REFERENCE_PATH }])}
${renderMenuGroup("Guides", GUIDES.map(toEntry))}
${renderMenuGroup("For operators", OPERATORS_GUIDES.map(toEntry))}
${renderMenuGroup("For tools", [
  { name: "This page as Markdown", path: toMarkdownPath(guide.page) },
  { name: "llms.txt", path: LLMS_PATH },
])}`;
}

/** What is read after it. */
function renderNext({ page }: Guide): Html | undefined {
  const next = ALL[ALL.findIndex((guide) => guide.page === page) + 1];
  if (next === undefined) return undefined;
  return html`<p class="guide-next">Next: <a href="${toGuidePath(next.page)}">${next.title}</a> <span class="quiet">${next.about}</span></p>`;
}
