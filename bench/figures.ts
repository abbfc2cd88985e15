/** Writes the newest saved result as tables into the pages, between markers. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BENCHES } from "./benches.ts";
import { PARTS } from "./options.ts";
import { printHighlights, type RequestsResult } from "./requests.ts";
import { readNewest, type Saved } from "./results.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The contents between the markers of each page, `<!-- figures -->` and `<!-- /figures -->`. */
export const PAGES: readonly {
  page: string;
  marker: string;
  render: (saved: Saved) => string;
}[] = [
  { page: "bench/README.md", marker: "figures", render: renderFigures },
  {
    page: "README.md",
    marker: "figures",
    render: ({ requests }) => printHighlights(requests as RequestsResult),
  },
];

/** Renders the tables of a saved result, with its machine. */
export function renderFigures({ date, machine, ...saved }: Saved): string {
  const parts = PARTS.filter((part) => saved[part] !== undefined);
  const tables = parts.map((part) => BENCHES[part].print(saved[part]));
  return [renderConditions({ date, machine }), ...tables].join("\n\n");
}

function renderConditions({ date, machine }: Pick<Saved, "date" | "machine">): string {
  return `Measured on ${date} with \`bun run bench\`: ${machine.processor}, ${machine.cores} cores shared by load, server and database, ${machine.memoryGb} GB, ${machine.system}, Bun ${machine.bun}.`;
}

/**
 * Replaces the text between the markers by the figures.
 *
 * @throws {Error} the text does not contain both markers once, in this order
 */
export function replaceFigures(text: string, marker: string, figures: string): string {
  const [start, close] = [`<!-- ${marker} -->`, `<!-- /${marker} -->`];
  const [before, rest, ...more] = text.split(start);
  const end = rest?.indexOf(close) ?? -1;
  if (rest === undefined || end === -1 || more.length > 0)
    throw new Error(`Cannot write the figures: the page needs ${start} and ${close} once each`);
  return `${before}${start}\n${figures}\n${rest.slice(end)}`;
}

export function readPage(page: string): string {
  return readFileSync(ROOT + page, "utf8");
}

/** Writes the newest saved result into the pages, and returns a message. */
export function writeFigures(): string {
  const saved = readNewest();
  for (const { page, marker, render } of PAGES)
    writeFileSync(ROOT + page, replaceFigures(readPage(page), marker, render(saved)));
  return `${[...new Set(PAGES.map(({ page }) => page))].join(" and ")} have the figures of ${saved.date}`;
}
