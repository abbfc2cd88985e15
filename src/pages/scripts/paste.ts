/** Reads pasted texts in the notations that a file can have. The grid loads it at the first paste: most visits need no paste. @module */
import { VALUES } from "../../kinds/mod.ts";
import { makeNumberReader, readValue } from "../../rows/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";

/** A reader of one pasted table. Returns `undefined` for a text that is read as if it was typed. */
export function makePasteReader() {
  const readNumber = makeNumberReader();
  return (column: NamedColumn, text: string, line: number) => {
    const { fromCsv } = VALUES[column.kind];
    const isTyped = column.kind === "json" || column.kind === "ref";
    if (fromCsv === undefined || isTyped || text.trim() === "") return undefined;
    const position = { line, column: column.name, delimiter: "\t" };
    const unread = fromCsv(text, (written) => readNumber(written, position));
    const read = "issue" in unread ? unread : readValue(unread.value, column);
    return "issue" in read ? read : { json: JSON.stringify(read.value) };
  };
}
