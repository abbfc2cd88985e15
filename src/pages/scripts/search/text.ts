/** Whether a row contains a text as the page displays its values: in every column, in any case and spelling. @module */
import { FIELDS, type FieldKind, shortenId, toMomentText } from "../../../kinds/mod.ts";
import { splitObject } from "../../../std/json_text.ts";
import { foldSpelling } from "../../../std/letter_case.ts";
import { formatTime } from "../time_text.ts";
import type { Row } from "./pages.ts";
import type { SearchColumn } from "./state.ts";

/** The ids of the referenced rows whose label has the text, by column. */
export type FoundTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** Spaces of every kind are equal: times contain narrow ones. */
function fold(text: string): string {
  return foldSpelling(text).replaceAll(/\s+/g, " ");
}

/** The texts that a cell displays instead of the value. */
const DISPLAYED: Readonly<Partial<Record<FieldKind["cell"], (text: string) => readonly string[]>>> =
  {
    moment: (time) => [toMomentText(time), formatTime(time)],
    mono: (id) => [shortenId(id)],
    reference: (id) => [shortenId(id)],
  };

/** The test of a row; `json` is its text, in which numbers have all their digits. */
export function makeTextTest(
  text: string,
  columns: readonly SearchColumn[],
  targets: FoundTargets,
): (row: Row, json: string) => boolean {
  const wanted = fold(text.trim());
  const has = (visible: string) => fold(visible).includes(wanted);
  return (row, json) => {
    const texts = splitObject(json);
    return columns.some(({ name, kind }) => {
      const value = row[name];
      if (value === null || value === undefined) return false;
      const exact = texts.get(name) ?? "";
      const { cell } = FIELDS[kind];
      if (cell === "json") return has(exact) || has(JSON.stringify(value));
      if (typeof value !== "string") return has(exact);
      const displayed = DISPLAYED[cell]?.(value) ?? [];
      return [value, ...displayed].some(has) || targets.get(name)?.has(value) === true;
    });
  };
}
