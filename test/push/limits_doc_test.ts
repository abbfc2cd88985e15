/** Compares the limits of a schema in docs/push.md with the code. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { QUOTAS } from "../../src/dsl/mod.ts";
import { ROOT } from "../support/command.ts";

const LABELS: Readonly<Record<keyof typeof QUOTAS, string>> = {
  tables: "tables of an app",
  columnsPerTable: "columns of a table",
  indexesPerTable: "indexes of a table, unique constraints and references included",
  decimalsPerIndex: "decimals in an index",
  referencesPerTarget: "references of an app to one table: a delete searches each",
  referencesToForeignTable:
    "references of an app to a table that another app owns; all apps other than the owner together: max 100",
  enumValues: "values of an enum",
  enumValueBytes: "bytes of an enum's value",
  defaultBytes: "bytes of a default, as JSON",
  tableDefaultBytes: "bytes of all defaults of a table, as JSON",
  deferredDefaultBytes:
    "stored bytes of the defaults of columns that are added while other apps use the table",
  defaultDepth: "levels of nesting in a default",
};

test("docs/push.md lists exactly the limits of a schema", () => {
  const page = readFileSync(join(ROOT, "docs/push.md"), "utf8");
  const [, table = ""] = page.split("The limits of a schema. ")[1]?.split("\n\n") ?? [];
  const rows = table.split("\n").slice(2);
  const wanted = Object.entries(LABELS).map(
    ([name, label]) => `| ${label} | ${QUOTAS[name as keyof typeof QUOTAS]} |`,
  );
  expect(rows).toEqual(wanted);
});
