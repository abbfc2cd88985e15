/** Saved results: one file per day, with a part per command and the machine. @module */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import type { Part } from "./options.ts";

/** Each part is the result of the bench with its name. */
export type Saved = Partial<Record<Part, unknown>> & {
  date: string;
  machine: ReturnType<typeof describeMachine>;
};

const FOLDER = fileURLToPath(new URL("results/", import.meta.url));

function describeMachine() {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    bun: Bun.version,
  };
}

/** Writes a command's result into the day's file, and returns its path. */
export function saveResult(part: Part, result: unknown): string {
  const date = new Date().toISOString().slice(0, 10);
  const file = `${FOLDER}${date}.json`;
  const before = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const saved = { ...before, date, machine: describeMachine(), [part]: result };
  writeFileSync(file, `${JSON.stringify(saved, shorten, 2)}\n`);
  return file;
}

/** @throws {Error} there is no saved result */
export function readNewest(): Saved {
  const newest = readdirSync(FOLDER).sort().at(-1);
  if (newest === undefined) throw new Error("Nothing is saved yet: run bun run bench --save");
  return JSON.parse(readFileSync(FOLDER + newest, "utf8")) as Saved;
}

/** Rounds to four digits: more digits are noise. */
function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isInteger(value)) return value;
  return Number(value.toPrecision(4));
}
