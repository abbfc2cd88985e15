/** The pages for people who change the code: what they name is there, and their links lead somewhere. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "./support/command.ts";

const PAGES = ["docs/architecture.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const sources = [...new Glob("**/*.ts").scanSync(join(ROOT, "src"))];
const code = sources.map((path) => readFileSync(join(ROOT, "src", path), "utf8")).join("\n");

describe.each(PAGES.map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") })))(
  "$path",
  ({ path, text }) => {
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

    test("links to existing pages and headings", () => {
      const links = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = ""]) => link);
      expect(links.filter((link) => !isLinkGood(path, link))).toEqual([]);
    });
  },
);

/** From the root, from src/, or by its name alone. */
function isThere(word: string): boolean {
  if (existsSync(join(ROOT, word)) || existsSync(join(ROOT, "src", word))) return true;
  if (word.endsWith("/")) return sources.some((path) => path.includes(`/${word}`));
  return sources.some((path) => path.endsWith(`/${word}`) || basename(path) === word);
}

function isDeclared(name: string): boolean {
  return new RegExp(
    `\\b(function\\*?|const|type) ${name}\\b|^ +(readonly )?"?${name}"?\\??:`,
    "m",
  ).test(code);
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
