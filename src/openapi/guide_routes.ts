/**
 * The pages of `docs/`: each for people at `/docs/<page>`, and for tools as Markdown at `/docs/<page>.md`, unchanged,
 * with an index at `/llms.txt`. @see https://llmstxt.org
 *
 * @module
 */
import {
  compressResponse,
  encodeBody,
  isNamed,
  type Route,
  readEncoding,
  readIfNoneMatch,
  respondNotModified,
  respondTagged,
} from "../http/mod.ts";
import { type Page, respondWithPage } from "../pages/mod.ts";
import { toGuidePage } from "./guide_view.tsx";
import {
  ALL_GUIDES,
  GUIDES,
  type Guide,
  LLMS_PATH,
  OPERATORS_GUIDES,
  readGuide,
  toGuidePath,
  toMarkdownPath,
} from "./guides.ts";

const INDEX = `# Rowhouse

> A data service and sign-in for many small apps that share one PostgreSQL. An app declares typed tables in TypeScript, pushes
> them with a command, and reads and writes rows over REST with an API key; browser apps learn who is signed in.

The API is described in [OpenAPI 3.1](/v1/openapi.json); with \`Authorization: Bearer <API key>\` the description has exactly the
tables of that key's app. People read the same at [/docs](/docs).

## Docs

${GUIDES.map(toLine).join("")}
## Optional

${OPERATORS_GUIDES.map(toLine).join("")}`;

function toLine({ page, title, about }: Guide): string {
  return `- [${title}](${toMarkdownPath(page)}): ${about}\n`;
}

const MARKDOWN = "text/markdown; charset=utf-8";

export const guideRoutes: readonly Route<unknown>[] = [
  // The format is Markdown, but programs and browsers handle plain text.
  toRoute({ path: LLMS_PATH, type: "text/plain; charset=utf-8", read: () => INDEX }),
  ...ALL_GUIDES.flatMap((guide) => [
    toRoute({ path: toMarkdownPath(guide.page), type: MARKDOWN, read: () => readGuide(guide) }),
    toPageRoute(toGuidePath(guide.page), () => toGuidePage(guide, readGuide(guide))),
  ]),
];

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

const HEADERS = { "cache-control": "no-cache", vary: "Accept-Encoding, Origin" };

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
