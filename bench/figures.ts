/** Writes the newest saved result as tables into the pages, between markers. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BENCHES } from "./benches.ts";
import { PARTS } from "./options.ts";
import { printHighlights, printSummary, type RequestsResult } from "./requests.ts";
import { readNewest, type Saved } from "./results.ts";

export const START = "<!-- figures -->";
export const END = "<!-- /figures -->";
const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The contents between the markers of each page. */
export const PAGES: Readonly<Record<string, (saved: Saved) => string>> = {
  "bench/README.md": renderFigures,
  "docs/figures.md": renderSummary,
  "README.md": ({ requests }) => printHighlights(requests as RequestsResult),
};

/** Renders the tables of a saved result, with its machine. */
export function renderFigures({ date, machine, ...saved }: Saved): string {
  const parts = PARTS.filter((part) => saved[part] !== undefined);
  const tables = parts.map((part) => BENCHES[part].print(saved[part]));
  return [renderConditions({ date, machine }), ...tables].join("\n\n");
}

/** Renders a line for each kind of request. */
export function renderSummary({ date, machine, requests }: Saved): string {
  return [renderConditions({ date, machine }), printSummary(requests as RequestsResult)].join(
    "\n\n",
  );
}

function renderConditions({ date, machine }: Pick<Saved, "date" | "machine">): string {
  return `Measured on ${date} with \`bun run bench\`: ${machine.processor}, ${machine.cores} cores shared by load, server and database, ${machine.memoryGb} GB, ${machine.system}, Bun ${machine.bun}.`;
}

/**
 * Replaces the text between the markers by the figures.
 *
 * @throws {Error} the text does not contain both markers once, in this order
 */
export function replaceFigures(text: string, figures: string): string {
  const [before, rest, ...more] = text.split(START);
  const end = rest?.indexOf(END) ?? -1;
  if (rest === undefined || end === -1 || more.length > 0)
    throw new Error(`Cannot write the figures: the page needs ${START} and ${END} once each`);
  return `${before}${START}\n${figures}\n${rest.slice(end)}`;
}

export function readPage(page: string): string {
  return readFileSync(ROOT + page, "utf8");
}

/** Writes the newest saved result into the pages, and returns a message. */
export function writeFigures(): string {
  const saved = readNewest();
  for (const [page, render] of Object.entries(PAGES))
    writeFileSync(ROOT + page, replaceFigures(readPage(page), render(saved)));
  return `${Object.keys(PAGES).join(" and ")} have the figures of ${saved.date}`;
}
