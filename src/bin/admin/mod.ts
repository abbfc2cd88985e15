/** `rowhouse admin …`: the table of operators' commands, one row per subcommand. @module */

import type { Command } from "../cli/command.ts";
import { adminAddressCommands } from "./addresses.ts";
import { adminAppLifeCommands } from "./app_life.ts";
import { adminAppCommands } from "./apps.ts";
import { adminAuditCommands } from "./audit.ts";
import { adminConvertCommands } from "./convert_to_citus.ts";
import { adminDeleteCommands } from "./delete.ts";
import { adminInvitationCommands } from "./invitations.ts";
import { adminKeyCommands } from "./keys.ts";
import { adminMoveAppCommands } from "./move_app.ts";
import { adminPeopleCommands } from "./people.ts";
import { adminPeopleListCommands } from "./people_lists.ts";
import { adminTableCommands } from "./tables.ts";
import { adminTargetCommands } from "./targets.ts";

export const adminCommands: readonly Command[] = [
  ...adminAppCommands,
  ...adminTargetCommands,
  ...adminAppLifeCommands,
  ...adminKeyCommands,
  ...adminPeopleCommands,
  ...adminInvitationCommands,
  ...adminPeopleListCommands,
  ...adminAddressCommands,
  ...adminDeleteCommands,
  ...adminAuditCommands,
  ...adminTableCommands,
  ...adminMoveAppCommands,
  ...adminConvertCommands,
];
