/** Watches a schema's folder by polling, which works on every file system and with every editor. @module */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const CHECK_INTERVAL_MS = 250;
/** The folder that a push itself writes. */
const JOURNAL = "migrations";

export type Watch = { readonly stop: () => void };

/** Calls `onChange` when files next to the schema file have changed and are stable again; never concurrently. */
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
  }, CHECK_INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

/** Names, sizes and times of the files in the schema folder; for a single schema file, only of that file. */
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
    return []; // missing, or being replaced: the next poll sees it
  }
}
