/** Definitions for tests, with one part that the test chooses. @module */
import { expect } from "bun:test";
import { readDefinition } from "../../src/schema/mod.ts";
import { expectSentences } from "./sentences.ts";

/** The flags of a text column that declares nothing else. */
export const PLAIN = { kind: "string", required: false, unique: false, index: false };
/** A uuid that is not in its recorded form. */
export const UUID = "0190163D-8694-739B-AEA5-966C26F8AD91";

/** A definition of one table `todos` with one column `c`, unchecked. */
export function withColumn(column: object): object {
  return withTable({ columns: [{ ...PLAIN, name: "c", ...column }] });
}

/** A definition of one table `todos`, unchecked. */
export function withTable(table: object): object {
  return {
    version: 1,
    tables: [{ name: "todos", columns: [], indexes: [], uniques: [], ...table }],
  };
}

/** The messages of the issues of a definition. */
export function messagesOf(value: unknown): readonly string[] {
  const reading = readDefinition(value);
  return "issues" in reading ? reading.issues.map(({ message }) => message) : [];
}

type Issue = {
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly message: string;
};
type WantedIssue = Omit<Issue, "message"> & { readonly names: readonly string[] };

/** Compares the place of each issue, and the names in its message; the wording is in the snapshot. */
export function expectIssues(
  reading: object & { issues?: readonly Issue[] },
  wanted: readonly WantedIssue[],
): void {
  const { issues = [] } = reading;
  const toPlace = ({ table, column }: Omit<Issue, "message">) => ({ table, column });
  expect(issues.map(toPlace)).toEqual(wanted.map(toPlace));
  for (const [at, { names }] of wanted.entries())
    expectSentences(issues[at]?.message ?? "", { names });
}

/** Compares the message of the only issue of a definition with the snapshot. */
export function expectOneMessage(value: unknown): string {
  const messages = messagesOf(value);
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatchSnapshot();
  return messages[0] ?? "";
}

/** Columns whose names produce the same derived name. */
export const AB = ["a", "b", "a__b"].map((name) => ({ ...PLAIN, name }));
/** One column more than the limit. */
export const MANY = Array.from({ length: 201 }, (_, i) => ({ ...PLAIN, name: `c${i}` }));
