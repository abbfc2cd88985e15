/** A file has one chapter: a comment that heads a part of a file means that it is two files. The list may only shrink. */
import { expect, test } from "bun:test";
import CHAPTERS from "./chapters.json";

/** Lines of comment between blank lines, at the left edge. */
const HEADING = /(?<=\n\n)(?:\/\/ .*\n)+(?=\n)/g;

const found = new Map<string, number>();
for (const path of new Bun.Glob("src/**/*.{ts,tsx}").scanSync(".")) {
  if (/_test\.tsx?$/.test(path)) continue;
  const headings = (await Bun.file(path).text()).match(HEADING) ?? [];
  if (headings.length > 0) found.set(path, headings.length);
}

test("a heading inside a file is found", () => {
  const file = "/** Reads. @module */\n\n// The writes.\n\n// Not a heading.\nconst one = 1;\n";
  expect(file.match(HEADING)).toEqual(["// The writes.\n"]);
});

test("files have no more chapters than those that are listed: split the file", () => {
  const listed: Readonly<Record<string, number>> = CHAPTERS;
  expect([...found].filter(([path, count]) => count > (listed[path] ?? 0))).toEqual([]);
});

test("the list has only files that still have its chapters: remove what was split", () => {
  const gone = Object.entries(CHAPTERS).filter(([path, count]) => (found.get(path) ?? 0) < count);
  expect(gone).toEqual([]);
});
