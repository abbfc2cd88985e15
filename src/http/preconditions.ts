/**
 * Entity tags, and the headers that compare them. @see https://www.rfc-editor.org/rfc/rfc9110#section-13
 *
 * @module
 */
import { Problem } from "../problem.ts";

/** Which tags a header names: any at all, or these, without their quotes. */
export type NamedTags = "*" | readonly string[];

type Tag = { readonly text: string; readonly isWeak: boolean };

const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
/** A compressed answer has a tag of its own; each form of a tag names the same state. */
const FORM = /-(?:gzip|zstd)$/;

/**
 * The tags that a write asks for; `undefined` without the header. Weak ones do not count: they do not tell two states apart.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfMatch({ headers }: Request): NamedTags | undefined {
  const tags = readTags("If-Match", headers.get("if-match"));
  return typeof tags === "object" ? toTexts(tags.filter(({ isWeak }) => !isWeak)) : tags;
}

/**
 * The tags of the states that a reader has already; `undefined` without the header.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfNoneMatch({ headers }: Request): NamedTags | undefined {
  const tags = readTags("If-None-Match", headers.get("if-none-match"));
  return typeof tags === "object" ? toTexts(tags) : tags;
}

/** Whether `tag` is among them. */
export function isNamed(tags: NamedTags | undefined, tag: string): boolean {
  return tags !== undefined && (tags === "*" || tags.includes(tag));
}

function toTexts(tags: readonly Tag[]): readonly string[] {
  return tags.map(({ text }) => text.replace(FORM, ""));
}

function readTags(name: string, header: string | null): "*" | readonly Tag[] | undefined {
  if (header === null || header === "*") return header ?? undefined;
  const items = splitList(header).filter((item) => item !== "");
  const tags = items.map(readTag);
  if (items.length > 0 && tags.every((tag) => tag !== undefined)) return tags;
  throw new Problem("invalid_precondition", {
    message: `Cannot read ${name}: must be "*", or the text of an ETag in its quotes, or several with commas between`,
  });
}

/** The items between commas; a tag may contain commas itself. */
function splitList(header: string): string[] {
  const items = [""];
  let isQuoted = false;
  for (const character of header) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === "," && !isQuoted) items.push("");
    else items[items.length - 1] += character;
  }
  return items.map((item) => item.trim());
}

function readTag(text: string): Tag | undefined {
  const found = TAG.exec(text);
  return found === null ? undefined : { isWeak: found[1] !== undefined, text: found[2] ?? "" };
}
