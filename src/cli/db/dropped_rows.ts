/** `.rowhouse/dropped/`: the rows of `dev` that go with a table or a column, written before they go. @module */
import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DATA_PATH } from "../../data/deps.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { DEV_FILE, HIDDEN_FOLDER } from "../dev_file.ts";
import { checkStaysInside } from "../project_file.ts";
import { callEndpoint, type Target } from "./http.ts";
import { writeIgnore } from "./types.ts";

export const DROPPED_FOLDER = join(HIDDEN_FOLDER, "dropped");

/** Writes all rows of a table; returns the sentence that says where they are, and how to import them. */
export async function keepRows(
  { folder, target }: { folder: string; target: Target },
  table: TableDefinition,
  columns: readonly string[],
): Promise<string> {
  checkStaysInside(folder, DEV_FILE);
  writeIgnore(folder);
  const file = makeFile(folder);
  let count = 0;
  // A page of large rows has fewer than the limit.
  for (let hasMore = true; hasMore; ) {
    const path = `${DATA_PATH}/${table.name}?limit=${MAX_ROWS}&offset=${count}`;
    const { text } = await callEndpoint(target, { path, scope: "data:read" });
    const page = splitObject(text);
    const rows = splitList(page.get("rows") ?? "[]");
    appendFileSync(join(folder, file), rows.map((row) => `${row}\n`).join(""), { mode: 0o600 });
    count += rows.length;
    hasMore = page.get("hasMore") === "true";
  }
  const again = columns.map((name) => `${table.name}.${name}`).join(", ") || table.name;
  const command = `rowhouse data import ${quoteForShell(table.name)} ${quoteForShell(file)}`;
  const unique = columns.length === 0 ? undefined : table.columns.find((each) => each.unique)?.name;
  const how = columns.length > 0 && unique === undefined ? " as new rows" : "";
  const by = unique === undefined ? "" : ` --update-by ${quoteForShell(unique)}`;
  return `Wrote ${showCount(count, "row")} of ${table.name} to ${file}. To import them${how}, declare ${again} again and run ${command}${by} --to dev`;
}

/** The path of a new file, named after the time. */
function makeFile(folder: string): string {
  mkdirSync(join(folder, DROPPED_FOLDER), { recursive: true });
  for (let time = Date.now(); ; time++) {
    const name = new Date(time).toISOString().replaceAll(":", "-").replace("Z", "");
    const file = join(DROPPED_FOLDER, `${name}.ndjson`);
    if (!existsSync(join(folder, file))) return file;
  }
}
