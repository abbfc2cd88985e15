/** `rowhouse admin …`: the table of what an operator does. A further subcommand is a further row. @module */
import { adminAppCommands } from "./admin_apps.ts";
import { adminKeyCommands } from "./admin_keys.ts";
import { adminTableCommands } from "./admin_tables.ts";
import type { Command } from "./command.ts";

export const adminCommands: readonly Command[] = [
  ...adminAppCommands,
  ...adminKeyCommands,
  ...adminTableCommands,
];
