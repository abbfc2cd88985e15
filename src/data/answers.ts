/** Answers with rows: their tags, and nothing but the tag for a caller who has that state already. @module */
import { rowTag } from "../catalog/mod.ts";
import {
  type AnswerOptions,
  answerBytes,
  answerNotModified,
  answerTagged,
  type Encoding,
  encodeBody,
  isNamed,
  type NamedTags,
  type TaggedBody,
  tagHeader,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { FoundPage } from "./find_page.ts";

/** A caller may keep an answer, and asks whether it is still right before using it again. */
const KEEPING = {
  "cache-control": "private, no-cache",
  vary: "Authorization, Accept-Encoding, Origin",
} as const;

/** The answer with a row. @throws {Problem} not_found */
export function answerRow(
  row: Uint8Array<ArrayBuffer> | null,
  options: AnswerOptions = {},
): Response {
  if (row === null) throw new Problem("not_found");
  const headers = { ...KEEPING, etag: tagHeader(rowTag(row)), ...options.headers };
  return answerBytes(row, { ...options, headers });
}

/** The answer with the rows of a batch, which have no address in common, and no tag. */
export function answerBatch(
  rows: Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string> = {},
): Response {
  if (rows === null) throw new Error("A function that creates rows returned nothing");
  return answerUntagged(rows, { status: 201, headers });
}

/** An answer without a tag, such as one with the id alone, from which the row's state does not follow. */
export function answerUntagged(body: Uint8Array<ArrayBuffer>, options: AnswerOptions): Response {
  return answerBytes(body, { ...options, headers: { ...KEEPING, ...options.headers } });
}

/** The answer to a reader of a row. @throws {Problem} not_found */
export function answerReader(
  row: Uint8Array<ArrayBuffer> | null,
  known: NamedTags | undefined,
): Response {
  if (row === null || known === undefined) return answerRow(row);
  const tag = rowTag(row);
  return isNamed(known, tag) ? answerSame(tag, known) : answerRow(row);
}

/** The answer to a reader who has this state. */
export function answerSame(tag: string, known: NamedTags): Response {
  return answerNotModified(tag, known, KEEPING);
}

/** A page that was found, in an encoding; `undefined` if only its tag was. */
export async function encodePage(
  { tag, body }: FoundPage,
  encoding: Encoding | undefined,
): Promise<{ tag: string; page: TaggedBody | undefined }> {
  if (body === undefined) return { tag, page: undefined };
  return { tag, page: { tag, ...(await encodeBody(body, encoding)) } };
}

/** The answer with a page. */
export function answerPage(page: TaggedBody): Response {
  return answerTagged(page, KEEPING);
}
