/** Reads pasted texts in the notations that a file can have. @module */
import { FIELDS, VALUES } from "../../../kinds/mod.ts";
import {
  CUT_SHORT,
  decideDayOrder,
  makeDayReader,
  makeNumberReader,
  readValue,
} from "../../../rows/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import { isCutShort } from "../../../std/csv.ts";

/** A reader of one pasted table. Returns `undefined` for a text that is read as if it was typed. */
export function makePasteReader() {
  const readNumber = makeNumberReader();
  return (column: NamedColumn, text: string, line: number) => {
    if (column.values === undefined && isCutShort(text)) return { issue: CUT_SHORT };
    const { fromCsv } = VALUES[column.kind];
    const isTyped = ["json", "reference"].includes(FIELDS[column.kind].control);
    if (fromCsv === undefined || isTyped || text.trim() === "") return undefined;
    const position = { line, column: column.name, delimiter: "\t" };
    const unread = fromCsv(text, {
      readNumber: (written) => readNumber(written, position),
      readDay: readPastedDay,
    });
    const read = "issue" in unread ? unread : readValue(unread.value, column);
    return "issue" in read ? read : { json: JSON.stringify(read.value) };
  };
}

/** Reads a day whose own numbers show its order; any other is an error. */
function readPastedDay(written: string) {
  const days = makeDayReader();
  const read = days.read(written);
  const order = decideDayOrder(days.found());
  return order === undefined ? read : makeDayReader(order).read(written);
}
