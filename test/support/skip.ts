/** Tests that a cluster cannot pass, skipped there by name. @module */
import { test } from "bun:test";
import { citusUrl } from "./citus.ts";

/** `test`, but skipped on a Citus cluster, with the reason in its name. */
export function testUnlessCitus(reason: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) =>
    citusUrl() === undefined ? test(name, run) : test.skip(`${name} (${reason})`, run);
}

/** Those of the cases that can be made here; the others are skipped by name. */
export function casesHere<Case extends { name: string; isOnePostgres?: boolean }>(
  cases: readonly Case[],
): Case[] {
  const isHere = ({ isOnePostgres = false }: Case) => citusUrl() === undefined || !isOnePostgres;
  for (const one of cases)
    if (!isHere(one)) test.skip(`${one.name} (Citus rejects it)`, () => undefined);
  return cases.filter(isHere);
}
