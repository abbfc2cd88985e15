/** Moves the database of a service that still runs. @module */
import type { Database } from "../../src/db/mod.ts";
import { type CommandOptions, runHere } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

/** The command is rejected, and changes nothing, if the service has just reported again that it runs. */
export async function moveDatabase(
  admin: Database,
  name: string,
  options: CommandOptions,
): Promise<void> {
  let said = "";
  await eventually(
    async () => {
      await admin.message("update rowhouse.processes set ended_at = now(); select 1");
      const { code, err } = await runHere(
        ["admin", "move-database", name, "--allow-sessions"],
        options,
      );
      said = err;
      return code === 0;
    },
    { describe: () => said },
  );
}
