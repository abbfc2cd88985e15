/** Which tests `bun run check --changed` selects. */
import { expect, test } from "bun:test";
import { listFiles } from "../support/tier.ts";
import { readTexts, toGraph } from "./graph.ts";
import { ISOLATION, selectTests } from "./selection.ts";

const texts = await readTexts();
const tests = (await listFiles("check", [])).map((file) => file.slice("./".length));
const select = (file: string) => selectTests([file], tests, texts);

test.each([
  { changed: "src/std/csv.ts", finds: "src/std/csv_test.ts" },
  { changed: "src/std/csv.ts", finds: "test/console/rows_test.ts" },
  { changed: "src/data/violation.ts", finds: "test/data/errors_test.ts" },
  { changed: "src/identity/mod.ts", finds: "test/identity/passkeys_test.ts" },
  { changed: "src/tables/mod.ts", finds: "test/data/list_test.ts" },
  { changed: "src/db/code/kept/calls.sql", finds: "test/db/migrations_test.ts" },
  { changed: "src/db/migrations/0001_new.sql", finds: "test/db/migrations_test.ts" },
  { changed: "src/pages/scripts/removed.ts", finds: "test/pages/import_zone_test.ts" },
  { changed: "src/gateway/signature.ts", finds: "test/layers_test.ts" },
  { changed: "test/support/passkeys.ts", finds: "test/identity/passkeys_test.ts" },
  { changed: "test/db/grants.json", finds: "test/db/grants_test.ts" },
  { changed: "test/fixtures/redirect_uri.tsv", finds: "test/identity/redirect_uri_test.ts" },
  { changed: "docs/architecture.md", finds: "test/docs_test.ts" },
  {
    changed: "test/service/__snapshots__/doctor_test.ts.snap",
    finds: "test/service/doctor_test.ts",
  },
])("a change of $changed selects $finds", ({ changed, finds }) => {
  expect(select(changed).get(finds)).toBeDefined();
});

test("a module selects no tests of modules that do not use it", () => {
  const selected = select("src/console/routes.ts");
  expect(selected.has("test/console/matrix_test.ts")).toBe(true);
  expect(selected.has("test/data/upsert_test.ts")).toBe(false);
  expect(selected.has("src/std/csv_test.ts")).toBe(false);
});

test("the tests of isolation are always selected", () => {
  const isolation = tests.filter((file) => ISOLATION.test(file));
  expect(isolation.length).toBeGreaterThan(15);
  expect([...selectTests([], tests, texts).keys()]).toEqual(isolation);
  const graph = toGraph(texts);
  const users = tests.filter((file) => graph.get(file)?.includes("test/support/isolation.ts"));
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((file) => !ISOLATION.test(file))).toEqual([]);
});

test("all tests are selected by what all depend on, and by a file that nothing names", () => {
  // Not written as one word: a test that names the file would count as its reader.
  for (const file of ["package.json", ["unnamed", "bin"].join(".")])
    expect(select(file).size).toBe(tests.length);
});
