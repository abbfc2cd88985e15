/** What a command refuses, as rows: the words, the exit code and what is said. @module */
import { expect, test } from "bun:test";
import type { Outcome } from "./command.ts";

export type Refused = { words: readonly string[]; code: number; says: string };

/** A test a row: nothing on standard output, the reason on the other. */
export function testRefused(
  run: (...words: string[]) => Promise<Outcome>,
  rows: readonly Refused[],
): void {
  test.each([...rows])("admin $words", async ({ words, code, says }) => {
    const outcome = await run(...words);
    expect(outcome.err).toContain(says);
    expect([outcome.code, outcome.out]).toEqual([code, ""]);
  });
}
