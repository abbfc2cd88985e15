/** The fenced blocks of a page, each with the mark in the comment on the line above. Pure. @module */

export type Block = {
  /** The line of its fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The comment, such as `not run: why` or `file: path`. */
  readonly mark: Mark | undefined;
};

/** An instruction to treat a block in another way than its language suggests. */
export type Mark = { readonly kind: (typeof MARKS)[number]; readonly text: string };

const MARKS = [
  /** The tests cannot run it. The text states the reason. */
  "not run",
  /** Another test runs it. The text is the path of the test. */
  "run by",
  /** The block is the content of the file with this path. */
  "file",
  /** The commands exit with this code. */
  "exits with",
  /** The last command keeps running in the background after it prints the text. */
  "keeps running",
  /** As `keeps running`, after the reader stops the previous command with Ctrl-C. */
  "instead keeps running",
  /** Typed on another machine or into another terminal: its variables and folder are not kept. */
  "another shell",
  /** TypeScript that the compiler checks, but that needs a browser to run. */
  "compiled",
] as const;

const FENCE = /^(?:<!-- (.+?) -->\n)?```([a-z]*)\n([\s\S]*?)^```$/gm;

/** Below a heading: the mark of each block of its section that has no mark of its own. */
const SECTION = /^(#+) .+\n(?:<!-- also: .+ -->\n)?<!-- each block (.+?) -->$/gm;

/** Returns all blocks, in order. @throws {Error} a comment above a block or below a heading is not a known mark */
export function readBlocks(page: string): readonly Block[] {
  const sections = readSections(page);
  return [...page.matchAll(FENCE)].map((found) => {
    const [whole, own, language = "", code = ""] = found;
    const start = found.index + whole.indexOf("```");
    const line = page.slice(0, start).split("\n").length;
    const comment = own ?? sections.find(({ from, to }) => from < start && start < to)?.comment;
    return { line, language, code, mark: comment === undefined ? undefined : readMark(comment) };
  });
}

/** Returns the sections with a mark. Each ends at the next heading of its level or above. */
function readSections(page: string): readonly { comment: string; from: number; to: number }[] {
  const prose = page.replace(FENCE, (block) => " ".repeat(block.length));
  return [...prose.matchAll(SECTION)].map(
    ({ index, 0: { length }, 1: level = "", 2: comment = "" }) => {
      const from = index + length;
      const next = prose.slice(from).search(new RegExp(`^#{1,${level.length}} `, "m"));
      return { comment, from, to: next === -1 ? page.length : from + next };
    },
  );
}

/** Returns the path of the file in a block, from its mark or from its first line. */
export function findPath({ mark, code }: Block): string | undefined {
  return mark?.kind === "file" ? mark.text : /^\/\/ ([\w./-]+\.tsx?)\n/.exec(code)?.[1];
}

/** Replaces texts of a page, such as a port or a key, in one pass: a replacement can look like another text of the page. */
export function replaceAllOf(code: string, replaced: ReadonlyMap<string, string>): string {
  const pattern = new RegExp([...replaced.keys()].map(RegExp.escape).join("|") || "$^", "g");
  return code.replace(pattern, (found) => replaced.get(found) ?? found);
}

/** Returns the number of fences in a page: two for each block, unless a block is not closed. */
export function countFences(page: string): number {
  return [...page.matchAll(/^```/gm)].length;
}

/** A comment that ends a generated table, such as `<!-- /errors -->`, must not be directly above a block. */
function readMark(comment: string): Mark {
  const kind = MARKS.find((known) => comment === known || comment.startsWith(`${known}: `));
  if (kind === undefined) throw new Error(`Unknown comment above a block: ${comment}`);
  return { kind, text: comment.slice(kind.length + 2) };
}
