/** The README's figures: the newest saved result as tables, between markers, so that no figure is typed by hand. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { printFigures, printGrowth, printPush, printStart } from "./print.ts";
import {
  printAdmission,
  printCeiling,
  printFairness,
  printGateway,
  printIdentity,
  printSoak,
  printStorm,
} from "./print_limits.ts";
import { readNewest, type Saved } from "./results.ts";

export const START = "<!-- figures -->";
export const END = "<!-- /figures -->";
export const README = fileURLToPath(new URL("../../README.md", import.meta.url));

/** The tables of a saved result, with the machine they were measured on. */
export function renderFigures({ date, machine, ...parts }: Saved): string {
  const place = `Measured on ${date} with \`bun run bench\`: ${machine.processor}, ${machine.cores} cores shared by load, server and database, ${machine.memoryGb} GB, ${machine.system}, Bun ${machine.bun}.`;
  const tables = [
    parts.requests && printFigures(parts.requests),
    parts.ceiling && printCeiling(parts.ceiling),
    parts.growth && printGrowth(parts.growth),
    parts.push && printPush(parts.push),
    parts.start && printStart(parts.start),
    parts.identity && printIdentity(parts.identity),
    parts.gateway && printGateway(parts.gateway),
    parts.fairness && printFairness(parts.fairness),
    parts.admission && printAdmission(parts.admission),
    parts.storm && printStorm(parts.storm),
    parts.soak && printSoak(parts.soak),
  ];
  return [place, ...tables].filter((part) => part !== undefined).join("\n\n");
}

/**
 * A text with the figures between its markers.
 *
 * @throws {Error} the markers are not there once, in this order
 */
export function replaceFigures(text: string, figures: string): string {
  const parts = text.split(START);
  const [before, rest] = parts;
  const end = rest?.indexOf(END) ?? -1;
  if (before === undefined || rest === undefined || parts.length !== 2 || end === -1)
    throw new Error(`Cannot write the figures: the README needs ${START} and ${END} once each`);
  return `${before}${START}\n${figures}\n${rest.slice(end)}`;
}

/** Writes the newest saved result into the README and says so. */
export function writeReadme(): string {
  const saved = readNewest();
  if (saved === undefined) throw new Error("Nothing is saved yet: run bun run bench --save");
  writeFileSync(README, replaceFigures(readFileSync(README, "utf8"), renderFigures(saved)));
  return `README.md has the figures of ${saved.date}`;
}
