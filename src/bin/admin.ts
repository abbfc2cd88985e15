/** `rowhouse admin …`: the table of what an operator does. A further subcommand is a further row. @module */
import { adminAppCommands } from "./admin_apps.ts";
import { adminAuditCommands } from "./admin_audit.ts";
import { adminKeyCommands } from "./admin_keys.ts";
import { adminPeopleCommands } from "./admin_people.ts";
import { adminTableCommands } from "./admin_tables.ts";
import type { Command } from "./command.ts";

export const adminCommands: readonly Command[] = [
  ...adminAppCommands,
  ...adminKeyCommands,
  ...adminPeopleCommands,
  ...adminAuditCommands,
  ...adminTableCommands,
];
