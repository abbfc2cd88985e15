/** Answers with rows: their tags, and nothing but the tag for a caller who has that state already. @module */
import { rowTag, TAG_LENGTH } from "../catalog/mod.ts";
import {
  type AnswerOptions,
  answerBytes,
  answerEmpty,
  isNamed,
  type NamedTags,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";

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
  const headers = { ...KEEPING, etag: `"${rowTag(row)}"`, ...options.headers };
  return answerBytes(row, { ...options, headers });
}

/** The answer to a reader of a row. @throws {Problem} not_found */
export function answerReader(
  row: Uint8Array<ArrayBuffer> | null,
  known: NamedTags | undefined,
): Response {
  if (row === null || known === undefined) return answerRow(row);
  const tag = rowTag(row);
  if (!isNamed(known, tag)) return answerRow(row);
  return answerEmpty({ status: 304, headers: { ...KEEPING, etag: `"${tag}"` } });
}

/** The answer with a page, which its function returns behind the page's tag: alone, if the reader has that state. */
export function answerPage(
  found: Uint8Array<ArrayBuffer> | null,
  known: NamedTags | undefined,
): Response {
  if (found === null) throw new Error("A list function returned nothing");
  const tag = new TextDecoder().decode(found.subarray(0, TAG_LENGTH));
  const headers = { ...KEEPING, etag: `"${tag}"` };
  return isNamed(known, tag)
    ? answerEmpty({ status: 304, headers })
    : answerBytes(found.subarray(TAG_LENGTH), { headers });
}

/** The row, if it is in one of the states that a write asks for. @throws {Problem} precondition_failed */
export function checkMatch(
  row: Uint8Array<ArrayBuffer> | null,
  wanted: NamedTags | undefined,
): Uint8Array<ArrayBuffer> | null {
  if (row === null || wanted === undefined || isNamed(wanted, rowTag(row))) return row;
  throw new Problem("precondition_failed");
}
