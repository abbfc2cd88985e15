/**
 * Entity tags, and the headers that compare them. @see https://www.rfc-editor.org/rfc/rfc9110#section-13
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { ENCODINGS } from "./encoding.ts";

/** A tag that a caller named: without its quotes, and without the encoding that an answer had under that name. */
type Named = { readonly text: string; readonly header: string };

/** Which tags a header names: any at all, or these. */
export type NamedTags = "*" | readonly Named[];

type Tag = Named & { readonly isWeak: boolean };

const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
/** A compressed answer has a tag of its own; each form of a tag names the same state. */
const FORM = new RegExp(`-(?:${ENCODINGS.join("|")})$`);

/**
 * The tags that a write asks for; `undefined` without the header. Weak ones do not count: they do not tell two states apart.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfMatch({ headers }: Request): NamedTags | undefined {
  const tags = readTags("If-Match", headers.get("if-match"));
  return typeof tags === "object" ? tags.filter(({ isWeak }) => !isWeak) : tags;
}

/**
 * The tags of the states that a reader has already; `undefined` without the header.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfNoneMatch({ headers }: Request): NamedTags | undefined {
  return readTags("If-None-Match", headers.get("if-none-match"));
}

/** Whether `tag` is among them. */
export function isNamed(tags: NamedTags | undefined, tag: string): boolean {
  return tags !== undefined && (tags === "*" || tags.some(({ text }) => text === tag));
}

/** The texts of tags that the service may have made, with commas between; `undefined` if every state will do. */
export function listTags(tags: NamedTags | undefined): string | undefined {
  if (typeof tags !== "object") return undefined;
  return tags.flatMap(({ text }) => (text.includes(",") ? [] : [text])).join(",");
}

/** A tag as a header; where a caller has named it, in the form that the caller has. */
export function tagHeader(tag: string, known?: NamedTags): string {
  const found = typeof known === "object" ? known.find(({ text }) => text === tag) : undefined;
  return found?.header ?? `"${tag}"`;
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
  if (found === null) return undefined;
  const [, weak, named = ""] = found;
  return { text: named.replace(FORM, ""), header: `"${named}"`, isWeak: weak !== undefined };
}
