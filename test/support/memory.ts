/** Memory of processes, from Linux's /proc. On other systems `undefined`. @module */
import { readFileSync } from "node:fs";

/** Returns resident memory in MB: the current value and the peak. */
export function residentMb(pid: number): { now: number; peak: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    const read = (name: string) =>
      Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1024;
    return { now: read("VmRSS"), peak: read("VmHWM") };
  } catch {
    return undefined;
  }
}
