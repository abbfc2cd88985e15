/** The pages of docs/: an index and unchanged Markdown for tools, and HTML with working links for people. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MOVED } from "../../src/openapi/guides.tsx";
import { docs } from "../../src/service/routes.ts";
import { ROOT } from "../support/command.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
const paths = docs
  .map(({ path }) => path)
  .filter((path) => /\.(md|txt)$/.test(path) && !Object.hasOwn(MOVED, path.slice(6, -3)));

const guides = pages.map((page) => `/docs/${page.slice(0, -3)}`);

test("every page of docs/ is served, and no other file of docs/", () => {
  expect(paths.toSorted()).toEqual(["/llms.txt", ...pages.map((page) => `/docs/${page}`)].sort());
  expect(docs.map(({ path }) => path)).toEqual(expect.arrayContaining(guides));
});

for (const shape of SHAPES) {
  describe(`a service of the shape "${shape}"`, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await openTestService({ shape });
    });
    afterAll(() => service.close());
    const request = (path: string, init?: RequestInit) => fetch(service.url + path, init);

    test("lists all pages in /llms.txt with working addresses", async () => {
      const response = await request("/llms.txt");
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      const text = await response.text();
      expect(text).toMatch(/^# Rowhouse\n\n> /);
      const lines = [...text.matchAll(/^- \[[\w ]+\]\((\/docs\/\w+\.md)\): \S.+$/gm)];
      const listed = lines.map(([, path]) => path ?? "");
      expect(listed.toSorted()).toEqual(pages.map((page) => `/docs/${page}`).sort());
      for (const page of listed) {
        const { status, headers } = await request(page, { method: "HEAD" });
        expect([status, headers.get("content-type")]).toEqual([
          200,
          "text/markdown; charset=utf-8",
        ]);
      }
    });

    test("serves a page unchanged, and sends it again only after a change", async () => {
      const response = await request("/docs/data.md", {
        headers: { "accept-encoding": "identity" },
      });
      expect(await response.text()).toBe(readFileSync(join(ROOT, "docs/data.md"), "utf8"));
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      const etag = response.headers.get("etag") ?? "";
      const zipped = await request("/docs/data.md", { headers: { "accept-encoding": "gzip" } });
      expect(zipped.headers.get("content-encoding")).toBe("gzip");
      for (const tag of [etag, zipped.headers.get("etag") ?? ""]) {
        const same = await request("/docs/data.md", { headers: { "if-none-match": tag } });
        expect([same.status, await same.text(), same.headers.get("etag")]).toEqual([304, "", tag]);
      }
    });

    test("renders each page as HTML, with links to existing pages and headings", async () => {
      const texts = new Map<string, string>();
      for (const path of guides) {
        const response = await request(path);
        expect([path, response.status, response.headers.get("content-type")]).toEqual([
          ...[path, 200],
          "text/html; charset=utf-8",
        ]);
        expect(response.headers.get("content-security-policy")).not.toMatch(
          /unsafe|\*|https?:|data:/,
        );
        texts.set(path, await response.text());
      }
      const others = new Set(["/docs", "/llms.txt", ...paths]);
      for (const [path, text] of texts) {
        const hrefs = [...text.matchAll(/<a[^>]* href="([^"]*)"/g)].map(([, href = ""]) => href);
        const lost = hrefs.filter((href) => {
          const { pathname, hash, protocol } = new URL(href, `http://x${path}`);
          if (protocol === "https:" || others.has(pathname)) return false;
          const target = texts.get(pathname);
          return target === undefined || !target.includes(hash && ` id="${hash.slice(1)}"`);
        });
        expect([path, lost]).toEqual([path, []]);
        expect(hrefs.filter((href) => href.endsWith(".md"))).toEqual([`${path}.md`]);
        expect(text).not.toMatch(/&lt;!--|<img[^>]+src="(?!\/assets\/)/);
      }
    });

    test.each(Object.keys(MOVED))("leads from the former page %s to a section", async (former) => {
      const { redirected, url, text } = await request(`/docs/${former}`).then(async (response) => ({
        ...{ redirected: response.redirected, url: new URL(response.url) },
        text: await response.text(),
      }));
      expect([redirected, guides.includes(url.pathname)]).toEqual([true, true]);
      expect(text).toContain(url.hash && ` id="${url.hash.slice(1)}"`);
      const markdown = await request(`/docs/${former}.md`);
      expect([markdown.status, new URL(markdown.url).pathname]).toEqual([
        200,
        `${url.pathname}.md`,
      ]);
      expect(pages).not.toContain(`${former}.md`);
    });

    test.each(["/llms.txt", "/docs/push.md", "/docs/push"])("rejects %s", async (path) => {
      const response = await request(path, { method: "POST", body: "x" });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
      expect(await response.json()).toMatchObject({ error: "method_not_allowed" });
    });

    test.each([
      "/docs/none.md",
      "/docs/none",
      "/docs/data/",
      "/docs/..%2fpackage.json",
      "/docs/data.md/",
      "/docs/console/rows.png",
    ])("returns 404 for %s", async (path) => {
      const response = await request(path);
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { error: "unknown_route" },
      ]);
    });
  });
}

describe("the search in the docs", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });
  afterAll(() => service.close());

  /** Returns the links of the results, in order. */
  async function find(text: string): Promise<string[]> {
    const response = await fetch(`${service.url}/docs/search?${new URLSearchParams({ q: text })}`);
    expect(response.status).toBe(200);
    const found = (await response.text()).matchAll(/<li><a href="([^"]+)">[^<]*<\/a> <span/g);
    return [...found].map(([, href = ""]) => href);
  }

  test.each([
    { text: "idempotency key", path: "/docs/data#sending-a-write-again" },
    { text: "precondition_failed", path: "/docs#code-precondition_failed" },
    { text: "list rows", path: "/docs#list_rows" },
    { text: "BACKUP", path: "/docs/operating#backup" },
    { text: "second fact", path: "/docs/identity#a-second-factor" },
    { text: "upsert", path: "/docs/query#create-or-update" },
    { text: "pagination", path: "/docs/data#list" },
    { text: "null", path: "/docs/data#values" },
    { text: "429", path: "/docs/data#limits" },
    { text: "CORS", path: "/docs/coming_from#access-and-people" },
    { text: "rotate", path: "/docs/operating#keys" },
    { text: "rotate a key", path: "/docs/operating#keys" },
    { text: "date filter", path: "/docs/query#conditions-order-and-selection" },
    { text: "webhooks", path: "/docs/coming_from#code-in-the-service" },
    { text: "2fa", path: "/docs/identity#a-second-factor" },
    { text: "log out", path: "/docs/identity#endpoints" },
  ])('finds $path for "$text"', async ({ text, path }) => {
    expect((await find(text)).slice(0, 5)).toContain(path);
  });

  test("finds each section by each of its synonyms", async () => {
    const synonyms = pages.flatMap((page) => {
      const text = readFileSync(join(ROOT, "docs", page), "utf8");
      return [...text.matchAll(/^(#+) (.+)\n<!-- also: (.+) -->$/gm)].flatMap(
        ([, level, title = "", also = ""]) =>
          also
            .split(", ")
            .map((word) => ({ word, path: toPath(page, level === "#" ? "" : title) })),
      );
    });
    expect(synonyms.length).toBeGreaterThan(400);
    const lost: unknown[] = [];
    for (const { word, path } of synonyms) {
      if (!(await find(word)).includes(path)) lost.push({ word, path });
    }
    expect(lost).toEqual([]);
  });

  test("every list of synonyms is below a heading", () => {
    for (const page of pages) {
      const text = readFileSync(join(ROOT, "docs", page), "utf8");
      const all = text.match(/<!-- also:/g) ?? [];
      expect([page, text.match(/^#+ .+\n<!-- also: [^\n]+ -->$/gm)?.length ?? 0]).toEqual([
        page,
        all.length,
      ]);
    }
  });

  /** Returns the address of a heading, or of the page. */
  function toPath(page: string, title: string): string {
    const id = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    return `/docs/${page.slice(0, -3)}${id && `#${id}`}`;
  }

  test("links to existing headings", async () => {
    const texts = new Map<string, string>();
    for (const href of [...(await find("key")), ...(await find("app")), ...(await find("limit"))]) {
      const [path = "", id] = href.split("#");
      const text = texts.get(path) ?? (await (await fetch(service.url + path)).text());
      texts.set(path, text);
      if (id !== undefined) expect([href, text.includes(` id="${id}"`)]).toEqual([href, true]);
    }
    expect(texts.size).toBeGreaterThan(3);
  });

  test.each(["", "nothingofthesort", "<script>alert(1)</script>", "\0", "a".repeat(3000)])(
    "finds no result for hostile text, and escapes the text (%#)",
    async (text) => {
      expect(await find(text)).toEqual([]);
      const response = await fetch(
        `${service.url}/docs/search?${new URLSearchParams({ q: text })}`,
      );
      expect(await response.text()).not.toContain("<script>alert");
    },
  );

  test("each example shows the reader's address", async () => {
    let found = 0;
    for (const path of guides) {
      const text = await (await fetch(service.url + path)).text();
      found += text.split("<span data-origin>").length - 1;
      for (const [, block = ""] of text.matchAll(/<code id="code-\d+">(.*?)<\/code>/gs)) {
        const code = block
          .replaceAll(/<span data-origin>[^<]*<\/span>/g, "")
          .replace(/<[^>]+>/g, "");
        expect([path, code]).toEqual([
          path,
          expect.not.stringMatching(
            /https:\/\/api\.example\.org|export (?!\w*IDENTITY)\w+_URL=http:|curl[^\n]* .{0,6}http:\/\/localhost:8787/,
          ),
        ]);
      }
    }
    expect(found).toBeGreaterThan(15);
    const index = await (await fetch(`${service.url}/llms.txt`)).text();
    expect(index).toContain("which is the origin of this file");
  });

  test("a page has its contents, its neighbors, colored code and the reader's address", async () => {
    const text = await (await fetch(`${service.url}/docs/push`)).text();
    expect(text).toContain('<nav class="contents" aria-labelledby="contents">');
    expect(text).toContain('rel="prev" href="/docs/query"');
    expect(text).toContain('rel="next" href="/docs/browser"');
    expect(text).toContain('<span class="code-keyword">export</span>');
    expect(text).toContain("<span data-origin>https://api.example.org</span>");
    const data = await (await fetch(`${service.url}/docs/data`)).text();
    expect(data).toContain("ROWHOUSE_URL=<span data-origin>http://localhost:8787</span>");
    // The colors do not change the text that readers copy.
    const [, code = ""] = /<code id="code-1">(.*?)<\/code>/s.exec(text) ?? [];
    const plain = code
      .replace(/<[^>]+>/g, "")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'");
    const markdown = readFileSync(join(ROOT, "docs/push.md"), "utf8");
    expect(markdown.replaceAll("&", "&amp;")).toContain(plain.trim());
  });
});
