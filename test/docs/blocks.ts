/** The fenced blocks of a page, and what the comment on the line above one says of it. Pure. @module */

/** One block. */
export type Block = {
  /** Where its fence stands, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** What the comment says: `not run: why`, `file: path` and so on; by word. */
  readonly mark: Mark | undefined;
};

/** Why a block is treated other than its language says. */
export type Mark = {
  readonly word: (typeof MARKS)[number];
  readonly text: string;
};

const MARKS = [
  /** Cannot be run here; the text says why. */
  "not run",
  /** Another test runs it: the text is its path. */
  "run by",
  /** The block is the content of this file. */
  "file",
  /** The commands end with this code. */
  "exits with",
  /** The last command stays in the background, once it has said the text. */
  "keeps running",
  /** The same, where the reader has ended with Ctrl-C what ran before. */
  "instead keeps running",
  /** Typed on another machine or into another terminal: nothing of it stays. */
  "another shell",
  /** TypeScript that is checked by the compiler but needs a browser to run. */
  "compiled",
] as const;

const FENCE = /^(?:<!-- (.+?) -->\n)?```([a-z]*)\n([\s\S]*?)^```$/gm;

/** All blocks, in order. @throws {Error} a comment above a block has a word that nobody knows */
export function readBlocks(page: string): readonly Block[] {
  return [...page.matchAll(FENCE)].map((found) => {
    const [whole, comment, language = "", code = ""] = found;
    const before = page.slice(0, found.index + whole.indexOf("```"));
    const line = before.split("\n").length;
    return { line, language, code, mark: comment === undefined ? undefined : readMark(comment) };
  });
}

/** The path of the file that a block is, by its comment or by its first line. */
export function findPath({ mark, code }: Block): string | undefined {
  return mark?.word === "file" ? mark.text : /^\/\/ ([\w./-]+\.tsx?)\n/.exec(code)?.[1];
}

/** A block's code with what stands here for what the page shows, which may look like more of what it shows: a port, a key. */
export function replaceShown(code: string, replaced: ReadonlyMap<string, string>): string {
  const shown = new RegExp([...replaced.keys()].map(RegExp.escape).join("|") || "$^", "g");
  return code.replace(shown, (found) => replaced.get(found) ?? found);
}

/** How many fences a page has: two for each block, or one is not closed. */
export function countFences(page: string): number {
  return [...page.matchAll(/^```/gm)].length;
}

/** A comment such as `<!-- /errors -->` ends a generated table: no block may follow it at once. */
function readMark(comment: string): Mark {
  const word = MARKS.find((one) => comment === one || comment.startsWith(`${one}: `));
  if (word === undefined) throw new Error(`Unknown comment above a block: ${comment}`);
  return { word, text: comment.slice(word.length + 2) };
}
