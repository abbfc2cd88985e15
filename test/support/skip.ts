/** Skips tests that cannot pass on a Citus cluster. @module */
import { test } from "bun:test";
import { citusUrl } from "./citus.ts";

/** Returns `test`, which on a Citus cluster skips and adds the reason to the name. */
export function testUnlessCitus(reason: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) =>
    citusUrl() === undefined ? test(name, run) : test.skip(`${name} (${reason})`, run);
}

/** Returns the cases that this database supports, and skips the other cases by name. */
export function casesHere<Case extends { name: string; isOnePostgres?: boolean }>(
  cases: readonly Case[],
): Case[] {
  const isHere = ({ isOnePostgres = false }: Case) => citusUrl() === undefined || !isOnePostgres;
  for (const testCase of cases)
    if (!isHere(testCase)) test.skip(`${testCase.name} (Citus rejects it)`, () => undefined);
  return cases.filter(isHere);
}
