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
  return ({ raw }: TemplateStringsArray, ...values: readonly (string | number)[]) => {
    const text = raw
      .map((part, index) => (index === 0 ? part : `\\v{${index - 1}}${part}`))
      .join("");
    const lines = text.split("\n").map((line) => line.trim());
    const rows = lines.filter((line) => line !== "");
    if (rows.length === 0) throw new Error("A table has no case");
    return rows.map((line) => toCase(names, line, values));
  };
}

function toCase<Name extends string>(
  names: readonly Name[],
  line: string,
  values: readonly (string | number)[],
): Record<Name, string> {
  const cells = line.split(/(?<=^| )\|(?= |$)/).map((cell) => readCell(cell.trim(), values));
  if (cells.length > names.length)
    throw new Error(`Cannot read the case "${line}": must have max ${names.length} cells`);
  const named = names.map((name, index) => [name, cells[index] ?? ""]);
  return Object.fromEntries(named) as Record<Name, string>;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

/** A line end in a value, or as an escape, ends no line of the table. */
function readCell(cell: string, values: readonly (string | number)[]): string {
  const escapes = /\\(?:v\{(\d+)\}|u\{([\da-f]+)\}|u([\da-f]{4})|(.))/gi;
  return cell.replace(escapes, (_, value, long, short, letter) => {
    if (value !== undefined) return String(values[Number(value)]);
    const code = long ?? short;
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
    return ESCAPES[letter] ?? letter;
  });
}

/**
 * Returns cases that are grouped by what is expected of them.
 * @example
 * test.each(casesBy({ 401: { "no key": undefined, "an unknown key": "rh_x" }, 403: { "a key of another app": other } }))(
 *   "$name gets $expected", …)
 */
export function casesBy<Value>(groups: Readonly<Record<string, Readonly<Record<string, Value>>>>) {
  return Object.entries(groups).flatMap(([expected, group]) =>
    Object.entries(group).map(([name, value]) => ({ name, value, expected })),
  );
}
