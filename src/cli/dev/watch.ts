/** Watches a schema's folder by polling, which works on every file system and with every editor. @module */

import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Definition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { findReplaced } from "../../std/names.ts";
import { quoteForShell } from "../../std/quote.ts";
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

// Names that an edit of the schema may have meant to change. A push would add the new name, and
// `rowhouse db rename` could then no longer use it. Pure.

/** The steps of a push that would add the new name end with `to`. */
type Rename = { to: string; message: string };

/** One removed and one added table with the same columns, or one removed and one added column of the same type. */
export function findRenames(before: Definition, after: Definition): Rename[] {
  const table = findReplaced(before.tables, after.tables, (each) => canonicalJson(each.columns));
  const columns = after.tables.flatMap(({ name, columns: declared }) => {
    const earlier = before.tables.find((other) => other.name === name)?.columns ?? [];
    const found = findReplaced(earlier, declared, ({ kind }) => kind);
    return found === undefined ? [] : [{ name, ...found }];
  });
  return [
    ...(table === undefined ? [] : [toRename("table", table.removed.name, table.added.name)]),
    ...columns.map(({ name, removed, added }) =>
      toRename("column", `${name}.${removed.name}`, `${name}.${added.name}`),
    ),
  ];
}

function toRename(kind: "table" | "column", from: string, to: string): Rename {
  const command = `rowhouse db rename ${quoteForShell(from)} ${quoteForShell(to.split(".").at(-1) ?? "")} --to dev`;
  return {
    to,
    message: `Not pushed: ${to} may be the new name of ${from}. To rename the ${kind}, run ${command}; to add another ${kind}, run rowhouse db push --to dev`,
  };
}
