/** Watches a schema's folder by polling, which works on every file system and with every editor. @module */

import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { PROJECT_JOURNAL } from "../db/journal.ts";

const CHECK_INTERVAL_MS = 125;

export type Watch = {
  /** Calls `onChange` when files have changed since {@linkcode watchSchema} and are stable again; never concurrently. */
  readonly start: (onChange: () => Promise<void>) => void;
  readonly stop: () => void;
  /** Calls `onChange` as after a change. */
  readonly repeat: () => void;
};

/** Watches the files next to the schema file, such as migrations: a reader that calls it before it reads misses no edit. */
export function watchSchema(file: string): Watch {
  let seen = fingerprint(file);
  let last = seen;
  let isBusy = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const check = async (onChange: () => Promise<void>) => {
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
    start: (onChange) => {
      timer = setInterval(check, CHECK_INTERVAL_MS, onChange);
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
    const found = statSync(path);
    if (!found.isDirectory()) return [`${path} ${found.size} ${found.mtimeMs}`];
    return readdirSync(path)
      .filter((name) => name !== "node_modules" && !name.startsWith("."))
      .flatMap((name) => list(join(path, name)));
  } catch {
    return []; // missing, or being replaced: the next poll sees it
  }
}
