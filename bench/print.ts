/** Renders the tables of all results, for the terminal and the pages. Pure. @module */

type Cell = string | number | undefined;

/** Renders a Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]) => `| ${cells.map((cell) => cell ?? "–").join(" | ")} |`;
  const rule = `|${head.map((_, index) => (index === 0 ? " --- |" : " ---: |")).join("")}`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** Renders a number with this many fraction digits. */
export function show(value: number | undefined, digits = 0): string | undefined {
  const [minimumFractionDigits, maximumFractionDigits] = [digits, digits];
  return value?.toLocaleString("en", { minimumFractionDigits, maximumFractionDigits });
}

export function times(ratio: number | undefined): string | undefined {
  return ratio === undefined ? undefined : `${ratio.toFixed(2)} ×`;
}
