/** What the tables of all results are made of: the terminal and the pages show the same text. Pure. @module */

type Cell = string | number | undefined;

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]) => `| ${cells.map((cell) => cell ?? "–").join(" | ")} |`;
  const rule = `|${head.map((_, index) => (index === 0 ? " --- |" : " ---: |")).join("")}`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** A number with so many digits after its point. */
export function show(value: number | undefined, digits = 0): string | undefined {
  const [minimumFractionDigits, maximumFractionDigits] = [digits, digits];
  return value?.toLocaleString("en", { minimumFractionDigits, maximumFractionDigits });
}

export function times(ratio: number | undefined): string | undefined {
  return ratio === undefined ? undefined : `${ratio.toFixed(2)} ×`;
}
