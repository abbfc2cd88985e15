/** Counts in the texts of commands have the noun that fits: of one thing, a text never says "1 rows". */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { planHistory } from "../../src/cli/db/history.ts";
import { defineSchema, t, toDefinition } from "../../src/schema/mod.ts";
import { MAX_MIGRATIONS_SENT } from "../../src/tables/limits.ts";
import { ROOT } from "../support/command.ts";

const COUNTED = /\$\{showCount\(/g;
/** A list's length or a number of things, then a noun in its plural. What is repeated, is more than one. */
const PLURAL =
  /\$\{[^{}()]*(?:\.(?:length|size)|\b(?:count|deleted|processes|rows|sent|stored|total|written)(?: [-+] [\w.]+)?)\}(?: [a-z]+)? (?!times)[a-z]+s\b/g;

test("no text of a command has a count with a fixed plural", async () => {
  const found: string[] = [];
  let counted = 0;
  for await (const file of new Glob("src/cli/**/*.ts").scan(ROOT)) {
    const text = await Bun.file(join(ROOT, file)).text();
    counted += text.match(COUNTED)?.length ?? 0;
    found.push(...(text.match(PLURAL) ?? []));
  }
  expect(counted).toBeGreaterThan(30);
  expect(found).toEqual([]);
});

test.each([
  { left: 1, text: "1 migration to follow" },
  { left: 2, text: "2 migrations to follow" },
])("a plan that ends early says that $left follow", async ({ left, text }) => {
  const schema = defineSchema({ todos: { title: t.string() } });
  const ahead = Array.from({ length: MAX_MIGRATIONS_SENT + left }, () => ({ text: "", parts: {} }));
  const plan = { migration: null, steps: [], notes: [], shared: [], earlier: [] };
  const service = { push: async () => plan };
  const history = { service, ahead, definition: toDefinition(schema), entries: [] };
  const { notes } = await planHistory(history as never);
  expect(notes).toEqual([expect.stringContaining(text)]);
});
