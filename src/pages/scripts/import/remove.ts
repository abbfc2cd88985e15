/** Removes the rows that an import stored, except those that have changed since. Never deletes another row by itself. @module */
import { listUniques, nameByUnique } from "../../../rows/mod.ts";
import type { TableDefinition } from "../../../schema/mod.ts";
import { announce } from "../dom.ts";
import { addButton, count, makeProgress, toNotice, toText } from "./parts.ts";
import type { TableRow } from "./send.ts";
import { deleteRows } from "./sync.ts";

type Removal = {
  readonly table: TableDefinition;
  readonly url: string;
  /** As they were stored. */
  readonly rows: readonly TableRow[];
  /** The tables whose rows are deleted with a row that they reference. */
  readonly cascades: readonly string[];
  readonly onRemoved: () => void;
};

/** Max rows that are named. */
const MAX_NAMED = 200;

/** A button, and a second one that confirms. */
export function offerRemoval(steps: HTMLElement, removal: Removal): void {
  const { rows, cascades } = removal;
  if (rows.length === 0) return;
  const ask = async () => {
    const also =
      cascades.length === 0 ? "" : ` Rows of ${cascades.join(", ")} that reference them go too.`;
    const text = `Only the ${count(rows.length, "row")} that this import stored and nobody has changed since.${also}`;
    const notice = toNotice("info", text);
    steps.append(notice);
    const name = `Remove ${count(rows.length, "row")}`;
    addButton(steps, name, () => remove(steps, removal), "danger")?.focus();
  };
  addButton(steps, "Remove the rows stored", ask, "quiet");
}

async function remove(steps: HTMLElement, removal: Removal): Promise<void> {
  const { table, url, rows } = removal;
  const progress = makeProgress(rows.length, `Removing ${count(rows.length, "row")}…`);
  steps.replaceChildren(progress.line);
  const left = new Set(rows);
  const kept: string[] = [];
  const unique = listUniques(table)[0] ?? [];
  let removed = 0;
  const stop = await deleteRows({ table, deleted: rows }, url, (row, reason) => {
    left.delete(row as TableRow);
    if (reason === undefined) removed++;
    else kept.push(`${nameByUnique(unique, row.values) || row.id}: ${reason}`);
    progress.show(
      removed + kept.length,
      `${toText(removed)} of ${count(rows.length, "row")} removed`,
    );
  });
  const text = `Removed ${toText(removed)} of ${count(rows.length, "row")}.`;
  announce(text);
  steps.replaceChildren(
    toNotice(
      stop === undefined ? "info" : "error",
      `${stop === undefined ? "" : `${stop}. `}${text}`,
    ),
  );
  if (kept.length > 0) {
    const more = kept.length - MAX_NAMED;
    const named = [...kept.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${toText(more)} more`] : [])];
    steps.append(toNotice("error", `${count(kept.length, "row")} kept.`, named));
  }
  if (removed > 0) removal.onRemoved();
  if (stop !== undefined) offerRemoval(steps, { ...removal, rows: [...left] });
}
