/** A schema's folder under watch, by looking: that works on every file system, and misses no editor's way to save. @module */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const LOOK_INTERVAL_MS = 250;
/** Written by push itself, below the schema. */
const JOURNAL = "migrations";

export type Watch = { readonly stop: () => void };

/** Calls `onChange` when files around the schema's file have changed and then held still; never twice at once. */
export function watchSchema(file: string, onChange: () => Promise<void>): Watch {
  let seen = fingerprint(file);
  let last = seen;
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy) return;
    const now = fingerprint(file);
    const isStill = now === last;
    last = now;
    if (!isStill || now === seen) return;
    seen = now;
    isBusy = true;
    await onChange();
    isBusy = false;
  }, LOOK_INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

/** Names, sizes and times of the file's folder; of the file alone where that folder is no schema's. */
function fingerprint(file: string): string {
  return list(file.endsWith("mod.ts") ? dirname(file) : file).join("\n");
}

function list(path: string): string[] {
  try {
    const { size, mtimeMs } = statSync(path);
    if (!statSync(path).isDirectory()) return [`${path} ${size} ${mtimeMs}`];
    return readdirSync(path)
      .filter((name) => name !== JOURNAL && name !== "node_modules" && !name.startsWith("."))
      .flatMap((name) => list(join(path, name)));
  } catch {
    return []; // being replaced, or not there: seen at the next look
  }
}
