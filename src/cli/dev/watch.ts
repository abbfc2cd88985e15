/** Watches a schema's folder by polling, which works on every file system and with every editor. @module */

import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { PROJECT_JOURNAL } from "../db/journal.ts";

const CHECK_INTERVAL_MS = 250;

type Watch = {
  readonly start: () => void;
  readonly stop: () => void;
  /** Calls `onChange` as after a change. */
  readonly repeat: () => void;
};

/**
 * After its start, calls `onChange` when files next to the schema file, such as migrations, have changed since the call of this
 * function and are stable again; never concurrently. So a reader that calls it before it reads misses no edit.
 */
export function watchSchema(file: string, onChange: () => Promise<void>): Watch {
  let seen = fingerprint(file);
  let last = seen;
  let isBusy = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const check = async () => {
    if (isBusy) return;
    const now = fingerprint(file);
    const isStill = now === last;
    last = now;
    if (!isStill || now === seen) return;
    seen = now;
    isBusy = true;
    await onChange();
    isBusy = false;
  };
  return {
    start: () => {
      timer = setInterval(check, CHECK_INTERVAL_MS);
    },
    stop: () => clearInterval(timer),
    repeat: () => {
      seen = "";
    },
  };
}

/** Names, sizes and times of the files in the schema folder; for a single schema file, of that file and the migrations. */
function fingerprint(file: string): string {
  const folder = dirname(file);
  const watched = file.endsWith("mod.ts") ? [folder] : [file, join(folder, PROJECT_JOURNAL)];
  return watched.flatMap(list).join("\n");
}

function list(path: string): string[] {
  try {
    const { size, mtimeMs } = statSync(path);
    if (!statSync(path).isDirectory()) return [`${path} ${size} ${mtimeMs}`];
    return readdirSync(path)
      .filter((name) => name !== "node_modules" && !name.startsWith("."))
      .flatMap((name) => list(join(path, name)));
  } catch {
    return []; // missing, or being replaced: the next poll sees it
  }
}
