/** Moves the database of a service that still runs. @module */
import { expect } from "bun:test";
import type { Database } from "../../src/db/mod.ts";
import { type CommandOptions, runHere } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

/** Repeats the command only if it is rejected because the service has just reported again that it runs. */
export async function moveDatabase(
  admin: Database,
  name: string,
  options: CommandOptions,
): Promise<void> {
  const words = ["admin", "move-database", name, "--allow-sessions"];
  await eventually(async () => {
    await admin.message("update rowhouse.processes set ended_at = now(); select 1");
    const { code, err } = await runHere(words, options);
    if (code !== 0) expect(err).toContain("a moment ago, and what they write now would not move");
    return code === 0;
  });
}
