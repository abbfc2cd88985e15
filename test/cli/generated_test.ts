import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import schema from "../../schema/mod.ts";
import { renderTypes } from "../../src/cli/db/types.ts";
import { readConfig, SETTINGS } from "../../src/settings/mod.ts";
import { MAX_PASSKEYS, RECENT_SIGN_IN } from "../../src/std/limits.ts";
import { COMPOSE, renderEnvExample, renderPage, renderSummaries } from "../../tools/generated.ts";
import { ROOT } from "../support/command.ts";
import { definitionOf } from "../support/service.ts";

const read = (name: string) => readFileSync(join(ROOT, name), "utf8");

test(".env.example is current: bun run generate changes nothing", () => {
  expect(read(".env.example")).toBe(renderEnvExample());
});

test("summaries.ts is current: bun run generate changes nothing", () => {
  expect(read("src/cli/summaries.ts")).toBe(renderSummaries());
});

const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));

test.each(pages)("docs/%s is current: bun run generate changes nothing", (name) => {
  expect(read(`docs/${name}`)).toBe(renderPage(`docs/${name}`, read(`docs/${name}`)));
});

test.each([
  {
    name: "a number",
    text: "9<!-- MAX_PASSKEYS -->",
    want: `${MAX_PASSKEYS}<!-- MAX_PASSKEYS -->`,
  },
  {
    name: "a duration",
    text: "in 9 days<!-- RECENT_SIGN_IN_S -->.",
    want: `in ${RECENT_SIGN_IN}<!-- RECENT_SIGN_IN_S -->.`,
  },
])("$name of a page is replaced", ({ text, want }) => {
  expect(renderPage("docs/x.md", text)).toBe(want);
});

test.each(["1<!-- UNKNOWN -->", "x<!-- MAX_PASSKEYS -->"])("%s on a page is an error", (text) => {
  expect(() => renderPage("docs/x.md", text)).toThrow("a known number before");
});

test(".env.example with every line uncommented is a valid configuration", () => {
  const lines = renderEnvExample().matchAll(/^# ([A-Z_]+)=(.*)$/gm);
  const env = Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
  expect(Object.keys(env)).toEqual([...Object.keys(SETTINGS), ...Object.keys(COMPOSE)]);
  expect(readConfig(env)).toEqual(readConfig({}));
});

test("a push of the example writes the types in .rowhouse/types.d.ts", () => {
  const tables = definitionOf(schema).tables.map(({ name }) => name);
  expect(read(".rowhouse/types.d.ts")).toBe(renderTypes("../schema/mod.ts", tables, "rowhouse"));
});
