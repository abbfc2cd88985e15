/** Every page: its links lead somewhere, its blocks are run or say why not; what those for contributors name is there. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";
import { countFences, type Mark, readBlocks } from "./docs/blocks.ts";
import { ROOT } from "./support/command.ts";

const CONTRIBUTORS_PAGES = ["docs/architecture.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const PAGES = ["*.md", "docs/*.md", "examples/todo/*.md"].flatMap((pattern) =>
  [...new Glob(pattern).scanSync(ROOT)].sort(),
);
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const sources = [...new Glob("**/*.ts").scanSync(join(ROOT, "src"))];
const code = sources.map((path) => readFileSync(join(ROOT, "src", path), "utf8")).join("\n");
const shared = [...new Glob("test/support/*.ts").scanSync(ROOT)].map((path) => read(path));
const declarations = [code, ...shared].join("\n");

const walks = ["docs/pages_slow.ts", "docs/walk_pages.ts", "stacks/stacks_slow.ts"]
  .map((path) => read(`test/${path}`))
  .join("\n");

describe.each(CONTRIBUTORS_PAGES.map((path) => ({ path, text: read(path) })))(
  "$path",
  ({ text }) => {
    const words = [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);

    test("names existing files", () => {
      const named = words.filter((word) => /^[\w.][\w./-]*(\.(ts|md|json|yaml)|\/)$/.test(word));
      expect(named.filter((word) => !isThere(word))).toEqual([]);
    });

    test("names existing functions and constants", () => {
      const named = words.flatMap(
        (word) => /^(\w+)\(\)$|^([A-Z]+_[A-Z_]+)$/.exec(word)?.slice(1) ?? [],
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
      mark?.word === "run by" ? !isRunBy(mark.text, path) : !isWalked(path) && !hasReason(mark),
    );
    expect(idle.map(({ line }) => `${path}:${line}`)).toEqual([]);
  });
});

test("README.md fits on 200 lines", () => {
  expect(read("README.md").split("\n").length - 1).toBeLessThanOrEqual(200);
});

test("README.md states a reason for each runtime dependency", () => {
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: object };
  const named = [...read("README.md").matchAll(/^- `([\w@/-]+)`: /gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(dependencies).sort());
});

test("each skipped block has a known reason", () => {
  const marks = PAGES.flatMap((path) => readBlocks(read(path))).map(({ mark }) => mark);
  const reasons = marks.filter((mark) => mark?.word === "not run").map((mark) => mark?.text ?? "");
  expect(new Set(reasons)).toEqual(new Set(REASONS));
});

/** Why a block is not run. */
const REASONS: readonly string[] = [
  "a drawing",
  "an example of style",
  "needs Docker",
  "needs a Citus cluster",
  "needs systemd",
  "needs a domain",
  "takes minutes",
  "the preview is off by default",
  "needs the other database",
  "needs PocketBase",
];

/** Whether a test does the page, block by block. */
function isWalked(path: string): boolean {
  return new RegExp(`describePage\\(\\s*"${path}"`).test(walks);
}

function hasReason(mark: Mark | undefined): boolean {
  return mark?.word === "not run" && mark.text !== "";
}

/** Whether a test's file is there and names the page. */
function isRunBy(file: string, path: string): boolean {
  return existsSync(join(ROOT, file)) && read(file).includes(path);
}

/** From the root, from src/, by its name alone; a file of a project, which the code names; or what a build makes. */
function isThere(word: string): boolean {
  if (read(".gitignore").split("\n").includes(word)) return true;
  if (code.includes(`= ${JSON.stringify(word)}`)) return true;
  if (existsSync(join(ROOT, word)) || existsSync(join(ROOT, "src", word))) return true;
  if (word.endsWith("/")) return sources.some((path) => path.includes(`/${word}`));
  return sources.some((path) => path.endsWith(`/${word}`) || basename(path) === word);
}

function isDeclared(name: string): boolean {
  return new RegExp(
    `\\b(function\\*?|const|type) ${name}\\b|^ +(readonly )?"?${name}"?\\??:`,
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
