/** Cases of a test as a table: a line for each, with " | " between its cells. @module */

/**
 * Returns the cases with the names of their cells. A cell that is left out at the end is empty.
 * @throws {Error} a line has more cells than names, or a table has no line
 * @example
 * const LIMITS = cases("query", "status")`
 *   ?limit=20 | 200
 *   ?limit=x  | 400`;
 */
export function cases<Name extends string>(...names: readonly Name[]) {
  return (texts: TemplateStringsArray, ...values: readonly (string | number)[]) => {
    const lines = String.raw({ raw: texts }, ...values).split("\n");
    const rows = lines.map((line) => line.trim()).filter((line) => line !== "");
    if (rows.length === 0) throw new Error("A table has no case");
    return rows.map((line) => toCase(names, line));
  };
}

function toCase<Name extends string>(names: readonly Name[], line: string): Record<Name, string> {
  const cells = line.split(/(?:^| +)\|(?: +|$)/).map((cell) => cell.trim());
  if (cells.length > names.length)
    throw new Error(`Cannot read the case "${line}": must have max ${names.length} cells`);
  const named = names.map((name, index) => [name, cells[index] ?? ""]);
  return Object.fromEntries(named) as Record<Name, string>;
}
