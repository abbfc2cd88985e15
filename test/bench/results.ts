/** Saved results: one file a day, each command's part in it, with what the machine was. @module */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import type { AdmissionResult } from "./admission.ts";
import type { CeilingResult } from "./ceiling.ts";
import type { FairnessResult } from "./fairness.ts";
import type { GatewayResult } from "./gateway.ts";
import type { GrowthResult } from "./growth.ts";
import type { IdentityResult } from "./identity.ts";
import type { PushResult } from "./push.ts";
import type { RequestsResult } from "./requests.ts";
import type { SoakResult } from "./soak.ts";
import type { StartResult } from "./start.ts";
import type { StormResult } from "./storm.ts";

export type Machine = {
  processor: string;
  cores: number;
  memoryGb: number;
  system: string;
  bun: string;
};

export type Saved = {
  date: string;
  machine: Machine;
  requests?: RequestsResult;
  growth?: GrowthResult;
  push?: PushResult;
  start?: StartResult;
  ceiling?: CeilingResult;
  identity?: IdentityResult;
  gateway?: GatewayResult;
  fairness?: FairnessResult;
  admission?: AdmissionResult;
  storm?: StormResult;
  soak?: SoakResult;
};
export type Part = Exclude<keyof Saved, "date" | "machine">;

const FOLDER = fileURLToPath(new URL("./results", import.meta.url));

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    bun: Bun.version,
  };
}

/** Writes a command's result into the day's file and says where that is. */
export function saveResult(date: string, part: Part, result: unknown): string {
  const file = `${FOLDER}${date}.json`;
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Saved) : {};
  const saved = { ...before, date, machine: describeMachine(), [part]: result };
  writeFileSync(file, `${JSON.stringify(saved, shorten, 2)}\n`);
  return file;
}

/** The newest saved result. */
export function readNewest(): Saved | undefined {
  const newest = readdirSync(FOLDER)
    .filter((name) => /^\d{4}-\d\d-\d\d\.json$/.test(name))
    .sort()
    .at(-1);
  return newest === undefined
    ? undefined
    : (JSON.parse(readFileSync(FOLDER + newest, "utf8")) as Saved);
}

/** Digits beyond the fourth are noise. */
function shorten(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value)
    ? Number(value.toPrecision(4))
    : value;
}
