/** Documentation pages: links resolve, every code block runs or states a reason, and contributors' pages name existing code. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";
import { countFences, type Mark, readBlocks } from "./docs/blocks.ts";
import { ROOT } from "./support/command.ts";

const CONTRIBUTORS_PAGES = ["docs/architecture.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const PAGES = ["*.md", "docs/*.md", "examples/*/*.md", "bench/*.md"].flatMap((pattern) =>
  [...new Glob(pattern).scanSync(ROOT)].sort(),
);
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const sources = [...new Glob("**/*.{ts,tsx,sql}").scanSync(join(ROOT, "src"))].filter(
  (path) => !path.includes("_test."),
);
const code = sources.map((path) => readFileSync(join(ROOT, "src", path), "utf8")).join("\n");
const shared = [...new Glob("test/support/*.ts").scanSync(ROOT)].map((path) => read(path));
const declarations = [code, ...shared].join("\n");

const pageTests = ["docs/pages_slow.ts", "docs/walk_pages.ts", "stacks/stacks_slow.ts"]
  .map((path) => read(`test/${path}`))
  .join("\n");

describe.each(CONTRIBUTORS_PAGES.map((path) => ({ path, text: read(path) })))(
  "$path",
  ({ text }) => {
    const terms = [...text.matchAll(/`([^`\n]+)`/g)].map(([, term = ""]) => term);

    test("names existing files", () => {
      const named = terms.filter((term) => /^[\w.][\w./-]*(\.(tsx?|md|json|yaml)|\/)$/.test(term));
      expect(named.length).toBeGreaterThan(3);
      expect(named.filter((term) => !isFile(term))).toEqual([]);
    });

    test("names existing functions and constants", () => {
      const named = terms.flatMap(
        (term) => /^(\w+)\(\)$|^([A-Z]+_[A-Z_]+)$/.exec(term)?.slice(1) ?? [],
      );
      const unknown = named.filter((name) => name !== undefined && !isDeclared(name));
      expect(unknown).toEqual([]);
    });
  },
);

describe.each(PAGES.map((path) => ({ path, text: read(path) })))("$path", ({ path, text }) => {
  test("links to existing pages and headings", () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !isLinkGood(path, link))).toEqual([]);
  });

  test("has only blocks that run or state a reason", () => {
    const blocks = readBlocks(text);
    expect(countFences(text)).toBe(2 * blocks.length);
    const idle = blocks.filter(({ mark }) =>
      mark?.kind === "run by" ? !isRunBy(mark.text, path) : !isPageTested(path) && !hasReason(mark),
    );
    expect(idle.map(({ line }) => `${path}:${line}`)).toEqual([]);
  });
});

test("the pages have links, blocks and names to check", () => {
  const named = CONTRIBUTORS_PAGES.flatMap((path) =>
    read(path).match(/`(\w+\(\)|[A-Z]+_[A-Z_]+)`/g),
  );
  expect(named.length).toBeGreaterThan(20);
  const all = PAGES.map((path) => read(path)).join("\n");
  expect(all.match(/\]\((?!https?:)[^)]+\)/g)?.length).toBeGreaterThan(150);
  expect(readBlocks(all).length).toBeGreaterThan(150);
});

test("CONTRIBUTING.md states a reason for each runtime dependency", () => {
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: object };
  const named = [...read("CONTRIBUTING.md").matchAll(/^- `([\w@/-]+)`: /gm)].map(
    ([, name]) => name,
  );
  expect(named.sort()).toEqual(Object.keys(dependencies).sort());
});

test("each skipped block has a known reason", () => {
  const marks = PAGES.flatMap((path) => readBlocks(read(path))).map(({ mark }) => mark);
  const reasons = marks.filter((mark) => mark?.kind === "not run").map((mark) => mark?.text ?? "");
  expect(new Set(reasons)).toEqual(new Set(REASONS));
});

/** The allowed reasons not to run a block. */
const REASONS: readonly string[] = [
  ...["a drawing", "needs Docker", "needs a Citus cluster", "needs a domain", "takes minutes"],
  ...["the preview is off by default", "needs the other database", "needs PocketBase"],
];

/** Returns whether a test runs the page, block by block. */
function isPageTested(path: string): boolean {
  return new RegExp(`describePage\\(\\s*"${path}"`).test(pageTests);
}

function hasReason(mark: Mark | undefined): boolean {
  return mark?.kind === "not run" && mark.text !== "";
}

/** Returns whether the test file exists and contains the page's path. */
function isRunBy(file: string, path: string): boolean {
  return existsSync(join(ROOT, file)) && read(file).includes(path);
}

/** Accepts paths from the root or from src/, bare names of sources, file names in the code, and build outputs. */
function isFile(term: string): boolean {
  if (read(".gitignore").split("\n").includes(term)) return true;
  if (code.includes(`= ${JSON.stringify(term)}`)) return true;
  if (existsSync(join(ROOT, term)) || existsSync(join(ROOT, "src", term))) return true;
  if (term.endsWith("/")) return sources.some((path) => path.includes(`/${term}`));
  return sources.some((path) => path.endsWith(`/${term}`) || basename(path) === term);
}

function isDeclared(name: string): boolean {
  return new RegExp(
    `\\b(function\\*?|const|type) (rowhouse\\.)?${name}\\b|^ +(readonly )?"?${name}"?\\??:|^ +variable: "${name}"`,
    "m",
  ).test(declarations);
}

function isLinkGood(from: string, link: string): boolean {
  const [file = "", heading] = link.split("#");
  const path = file === "" ? join(ROOT, from) : join(ROOT, dirname(from), file);
  if (!existsSync(path)) return false;
  if (heading === undefined) return true;
  const headings = [...readFileSync(path, "utf8").matchAll(/^#+ (.+)$/gm)];
  return headings.some(([, title = ""]) => toAnchor(title) === heading);
}

function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
