/** A push's change of a column, as text. Pure. @module */
import type { PushedDefinition } from "../accounts/console/mod.ts";
import { compareDefinitions, type Line } from "./definition_changes.ts";

/** The first of these pushes that changed a column of a table. */
export function findColumnChange(
  pushes: readonly PushedDefinition[],
  { table, field }: { table: string; field: string },
): { seq: number; text: string } | undefined {
  for (const push of pushes) {
    const changes = compareDefinitions(push);
    const lines = changes.find((change) => change.table === table)?.lines ?? [];
    const line = lines.find(({ change, text }) => change !== "same" && nameOf(text) === field);
    if (line !== undefined) return { seq: push.seq, text: toText(line) };
  }
  return undefined;
}

/** A column's line begins with its name. */
function nameOf(line: string): string | undefined {
  return line.split(" ", 1)[0];
}

function toText(line: Line): string {
  const describe = (text: string) => text.split(" ").slice(1).join(" ");
  if (line.change === "changed")
    return `changed it from ${describe(line.was)} to ${describe(line.text)}`;
  return line.change === "added" ? `added it as ${describe(line.text)}` : "removed it";
}
