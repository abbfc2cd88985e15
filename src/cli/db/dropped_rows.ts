/** `.rowhouse/dropped/`: dropped rows of `dev`, written before the drop. @module */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_PATH } from "../../data/deps.ts";
import { readPages } from "../../rows/pages.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { HIDDEN_FOLDER } from "../dev_file.ts";
import { checkStaysInside } from "../project_file.ts";
import { callEndpoint, type Target } from "./http.ts";
import { writeIgnore } from "./types.ts";

export const DROPPED_FOLDER = join(HIDDEN_FOLDER, "dropped");

/** What is dropped: columns of the table, or without them the table, with other tables. */
type Dropped = { readonly columns: readonly string[]; readonly dropped: readonly string[] };

/** Writes all rows of a table; returns the sentence that says where they are, and how to import them. */
export async function keepRows(
  { folder, target }: { folder: string; target: Target },
  table: TableDefinition,
  { columns, dropped }: Dropped,
): Promise<string> {
  const file = makeFile(folder);
  const opened = openSync(join(folder, file), "wx", 0o600);
  let count = 0;
  try {
    for await (const rows of listRows(target, table.name)) {
      writeFileSync(opened, rows.map((row) => `${row}\n`).join(""));
      count += rows.length;
    }
  } finally {
    closeSync(opened);
  }
  // The drop is durable: after a crash of the machine, so must be the file.
  for (const path of [file, DROPPED_FOLDER, HIDDEN_FOLDER]) flush(join(folder, path));
  const again = columns.map((name) => `${table.name}.${name}`).join(", ") || table.name;
  const unique = columns.length === 0 ? undefined : table.columns.find((each) => each.unique)?.name;
  const by = unique === undefined ? "" : ` --update-by ${quoteForShell(unique)}`;
  const beside = columns.length === 0 ? "" : ", beside those that stay";
  const how = unique === undefined ? ` as new rows, with new ids${beside}` : "";
  const preview = unique === undefined ? "" : ", start rowhouse dev with --preview filters,";
  const referenced = new Set(table.columns.flatMap((column) => column.table ?? []));
  referenced.delete(table.name);
  const first = dropped.filter((name) => referenced.has(name)).join(" and ");
  const command = `rowhouse data import ${quoteForShell(table.name)} ${quoteForShell(file)}${by}`;
  return `Wrote ${showCount(count, "row")} of ${table.name} to ${file}. To import them${how}, declare ${again} again${preview}${first && `, import dropped rows of ${first} first,`} and run ${command} --to dev`;
}

/** The JSON text of each row. The service serves meanwhile. */
function listRows(target: Target, table: string): AsyncGenerator<readonly string[], void> {
  return readPages(
    async ({ limit, offset }) => {
      const path = `${DATA_PATH}/${table}?limit=${limit}&offset=${offset}`;
      const { text } = await callEndpoint(target, { path, scope: "data:read" });
      const page = splitObject(text);
      return { rows: splitList(page.get("rows") ?? "[]"), hasMore: page.get("hasMore") === "true" };
    },
    { limit: MAX_ROWS, idOf: (row) => splitObject(row).get("id") ?? "" },
  );
}

function flush(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** The path of a new file, named after the time. */
function makeFile(folder: string): string {
  checkStaysInside(folder, join(DROPPED_FOLDER, "rows"));
  writeIgnore(folder);
  mkdirSync(join(folder, DROPPED_FOLDER), { recursive: true });
  for (let time = Date.now(); ; time++) {
    const name = new Date(time).toISOString().replaceAll(":", "-").replace("Z", "");
    const file = join(DROPPED_FOLDER, `${name}.ndjson`);
    if (!existsSync(join(folder, file))) return file;
  }
}
