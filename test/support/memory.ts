/** Memory of processes, as Linux tells it in /proc; elsewhere `undefined`. @module */
import { readFileSync } from "node:fs";

/** Resident memory in MB: now, and the most it ever was. */
export function residentMb(pid: number): { now: number; most: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    const read = (name: string) =>
      Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1024;
    return { now: read("VmRSS"), most: read("VmHWM") };
  } catch {
    return undefined;
  }
}
