/** @jsxImportSource #html @jsxRuntime automatic */
/** The pages of `docs/` that a service serves, and their descriptions in its index. @module */

import { readFileSync } from "node:fs";
import {
  compressResponse,
  encodeBody,
  isNamed,
  type Route,
  readEncoding,
  readIfNoneMatch,
  respondEmpty,
  respondNotModified,
  respondTagged,
} from "../http/mod.ts";
import {
  type Heading,
  type Html,
  type Page,
  renderMarkdown,
  respondWithPage,
  type Target,
} from "../pages/mod.ts";
import { VERSION } from "../std/version.ts";
import { type Entry, REFERENCE_PATH, renderFrame, renderMenuGroup } from "./frame.tsx";

export const LLMS_PATH = "/llms.txt";

type Described = { readonly page: string; readonly title: string; readonly about: string };

/** For people who build an app, in reading order. */
export const GUIDES = [
  { page: "tutorial", title: "Tutorial", about: "build your own app, step by step" },
  { page: "data", title: "Data", about: "tables, rows, values, limits, errors" },
  {
    page: "query",
    title: "Query",
    about: "conditions, related rows, groups, upserts, live updates (preview)",
  },
  {
    page: "push",
    title: "Pushing a schema",
    about: "changing a schema, mistakes, environments, CI, tables that apps share",
  },
  {
    page: "browser",
    title: "Rules for people",
    about: "what people may read and write from a browser, without a server (preview)",
  },
  {
    page: "identity",
    title: "Identity",
    about: "hosts, people, roles, endpoints, protection of accounts",
  },
  {
    page: "clients",
    title: "Clients",
    about: "packages, options, sign-in in pages, React, examples",
  },
  {
    page: "rows",
    title: "Rows in and out",
    about: "import and export CSV or JSON; move an app, or rows of another system",
  },
  {
    page: "coming_from",
    title: "Coming from others",
    about: "the words of Supabase, PocketBase, PostgREST and Directus, and what is not here",
  },
] as const satisfies readonly Described[];

/** For people who run or study a service. */
const OPERATORS_GUIDES = [
  { page: "console", title: "The Console", about: "administration in a browser" },
  { page: "install", title: "Install", about: "production from an empty machine, settings, TLS" },
  {
    page: "operating",
    title: "Operating",
    about: "monitoring, keys, apps, upgrades, versions, backup",
  },
  { page: "scaling", title: "Scaling", about: "a database on several machines" },
  { page: "security", title: "Security", about: "what each credential can do" },
  { page: "limits", title: "Sizes and limits", about: "memory, connections, tables, rows, times" },
  { page: "architecture", title: "Architecture", about: "the code, from request to row" },
] as const satisfies readonly Described[];

export type Guide = (typeof GUIDES | typeof OPERATORS_GUIDES)[number];

export const ALL_GUIDES: readonly Guide[] = [...GUIDES, ...OPERATORS_GUIDES];

/** Pages of earlier releases, with the page, and its section, that has their text. Links to them are in logs, mails and bookmarks. */
export const MOVED: Readonly<Record<string, readonly [page: Guide["page"], section?: string]>> = {
  moving: ["rows", "move-from-another-system"],
  figures: ["limits"],
  versioning: ["operating", "versions"],
  sdk: ["clients"],
  mistakes: ["push", "explicit-changes"],
  ci: ["push", "checks-in-ci"],
  node: ["clients", "examples"],
  react: ["clients", "react"],
  python: ["clients", "examples"],
};

const FOLDER = new URL("../../docs/", import.meta.url);

/** Names of packages contain the version of this program, which only operators may know. */
const OWN_VERSION = new RegExp(`(?<![\\d.])${RegExp.escape(VERSION)}(?![\\d.])`, "g");

export function readGuide({ page }: Guide): string {
  return readFileSync(new URL(`${page}.md`, FOLDER), "utf8").replace(OWN_VERSION, "VERSION");
}

export function toGuidePath(page: Guide["page"]): string {
  return `/docs/${page}`;
}

function toMarkdownPath(page: Guide["page"]): string {
  return `/docs/${page}.md`;
}

// The pages of `docs/` for people: text next to the list of all pages.

function toGuidePage(guide: Guide, markdown: string): Page {
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

// The pages of `docs/`: each for people at `/docs/<page>`, and for tools as Markdown at
// `/docs/<page>.md`, unchanged, with an index at `/llms.txt`. @see https://llmstxt.org

const INDEX = `# Rowhouse

> A data service and sign-in for many small apps that share one PostgreSQL. An app declares typed tables in TypeScript, pushes
> them with a command, and reads and writes rows over REST with an API key; browser apps learn who is signed in.

The API is described in [OpenAPI 3.1](/v1/openapi.json); with \`Authorization: Bearer <API key>\` the description has exactly the
tables of that key's app. People read the same at [/docs](/docs). Examples use
\`https://api.example.org\` and \`http://localhost:8787\` for the address of the API, which is the origin of this file.

## Docs

${GUIDES.map(toLine).join("")}
## Optional

${OPERATORS_GUIDES.map(toLine).join("")}`;

function toLine({ page, title, about }: Guide): string {
  return `- [${title}](${toMarkdownPath(page)}): ${about}\n`;
}

const MARKDOWN = "text/markdown; charset=utf-8";
const HEADERS = { "cache-control": "no-cache", vary: "Accept-Encoding, Origin" };

export const guideRoutes: readonly Route<unknown>[] = [
  // The format is Markdown, but programs and browsers handle plain text.
  toRoute({ path: LLMS_PATH, type: "text/plain; charset=utf-8", read: () => INDEX }),
  ...ALL_GUIDES.flatMap((guide) => [
    toRoute({ path: toMarkdownPath(guide.page), type: MARKDOWN, read: () => readGuide(guide) }),
    toPageRoute(toGuidePath(guide.page), () => toGuidePage(guide, readGuide(guide))),
  ]),
  ...Object.entries(MOVED).flatMap(([former, [page, section]]) => [
    toMovedRoute(
      `/docs/${former}`,
      toGuidePath(page) + (section === undefined ? "" : `#${section}`),
    ),
    toMovedRoute(`/docs/${former}.md`, toMarkdownPath(page)),
  ]),
];

function toMovedRoute(path: string, location: string): Route<unknown> {
  const headers = { ...HEADERS, location };
  return {
    method: "GET",
    path,
    access: "open",
    handle: () => respondEmpty({ status: 308, headers }),
  };
}

/** Nothing on the page is secret, so it can be compressed. */
function toPageRoute(path: string, make: () => Page): Route<unknown> {
  let stored: Page | undefined;
  return {
    method: "GET",
    path,
    access: "open",
    handle: async (_deps, { request }) => {
      stored ??= make();
      return await compressResponse(respondWithPage(stored), request);
    },
  };
}

type Source = { path: string; type: string; read: () => string };
type Text = { bytes: Uint8Array<ArrayBuffer>; tag: string };

function toRoute({ path, type, read }: Source): Route<unknown> {
  let stored: Text | undefined;
  return {
    method: "GET",
    path,
    access: "open",
    handle: async (_deps, { request }) => {
      stored ??= toText(read());
      const { bytes, tag } = stored;
      const known = readIfNoneMatch(request);
      if (isNamed(known, tag)) return respondNotModified(tag, known, HEADERS);
      const accepted = readEncoding(request.headers.get("accept-encoding"));
      const encoded = { tag, ...(await encodeBody(bytes, accepted)) };
      return respondTagged(encoded, { ...HEADERS, "content-type": type });
    },
  };
}

function toText(text: string): Text {
  const bytes = new TextEncoder().encode(text);
  return { bytes, tag: Bun.CryptoHasher.hash("sha256", bytes, "base64url") };
}
