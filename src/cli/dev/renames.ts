/**
 * Names that an edit of the schema may have meant to change. A push would add the new name, and
 * `rowhouse db rename` could then no longer use it. Pure.
 *
 * @module
 */
import type { Definition } from "../../schema/definition.ts";
import { canonicalJson } from "../../std/json.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { findReplaced } from "../../std/replaced.ts";

/** The steps of a push that would add the new name end with `to`. */
type Rename = { to: string; message: string };

/** One removed and one added table with the same columns, or one removed and one added column of the same type. */
export function findRenames(before: Definition, after: Definition): Rename[] {
  const table = findReplaced(before.tables, after.tables, (each) => canonicalJson(each.columns));
  const columns = after.tables.flatMap(({ name, columns: declared }) => {
    const earlier = before.tables.find((other) => other.name === name)?.columns ?? [];
    const found = findReplaced(earlier, declared, ({ kind }) => kind);
    return found === undefined ? [] : [{ name, ...found }];
  });
  return [
    ...(table === undefined ? [] : [toRename("table", table.removed.name, table.added.name)]),
    ...columns.map(({ name, removed, added }) =>
      toRename("column", `${name}.${removed.name}`, `${name}.${added.name}`),
    ),
  ];
}

function toRename(kind: "table" | "column", from: string, to: string): Rename {
  const command = `rowhouse db rename ${quoteForShell(from)} ${quoteForShell(to.split(".").at(-1) ?? "")} --to dev`;
  return {
    to,
    message: `Not pushed: ${to} may be the new name of ${from}. To rename the ${kind}, run ${command}; to add another ${kind}, run rowhouse db push --to dev`,
  };
}
