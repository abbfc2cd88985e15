/** Compares text for people: its facts with the test, its wording with the snapshot of the test file. @module */
import { expect } from "bun:test";

export type Facts = {
  /** Names, values and numbers that the text must contain. */
  readonly names?: readonly string[] | undefined;
  /** Secrets, and names that the reader must not learn. */
  readonly hides?: readonly string[];
  /** Placeholders in the snapshot by the values of this run, such as a port or a random name. */
  readonly varies?: Readonly<Record<string, string>>;
};

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** A random name of a table. */
const TABLE = /\bt_[0-9a-f]{12}\b/g;

export function expectSentences(
  text: string,
  { names = [], hides = [], varies = {} }: Facts,
): void {
  const lacks = names.filter((name) => !text.includes(name));
  const leaks = hides.filter((name) => text.includes(name));
  expect({ text, lacks, leaks }).toEqual({ text, lacks: [], leaks: [] });
  const masked = Object.entries(varies).reduce(
    (masking, [value, placeholder]) => masking.replaceAll(value, placeholder),
    text.replace(UUID, "<uuid>").replace(TABLE, "<table>"),
  );
  expect(masked).toMatchSnapshot();
}

/** Compares the issues of settings: each begins with its setting, and names the other values. None has a secret. */
export function expectIssues(
  found: readonly string[],
  issues: readonly (readonly string[])[],
): void {
  expect(found.map((issue) => issue.split(" ")[0])).toEqual(issues.map(([name = ""]) => name));
  for (const [at, names] of issues.entries())
    expectSentences(found[at] ?? "", { names, hides: ["secret-word", "s".repeat(32)] });
}
