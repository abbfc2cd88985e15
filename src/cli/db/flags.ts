/** Shared flags of `rowhouse db` commands. @module */
import { type Arguments, type Flags, JSON_FLAG } from "../command.ts";
import { readWhole } from "../settings.ts";
import { PROJECT_FILE } from "./environments.ts";

const WAIT_S = 60;
const MAX_WAIT_S = 3600;

export const ENVIRONMENT_FLAGS = {
  url: { value: "url", about: "the service's URL; default: ROWHOUSE_URL" },
  to: { value: "environment", about: `an environment in ${PROJECT_FILE}, such as staging` },
  app: {
    value: "slug",
    about: "directly to the database as this app (ADMIN_DATABASE_URL, else DATABASE_URL)",
  },
  json: JSON_FLAG,
} as const satisfies Flags;
export const FILE_FLAGS = {
  schema: { value: "path", about: "the schema file, or a folder with mod.ts; default schema/" },
  journal: {
    value: "folder",
    about: "the migrations folder; default migrations/ next to the schema",
  },
} as const satisfies Flags;
export const SCHEMA_FLAGS: Flags = {
  ...FILE_FLAGS,
  ...ENVIRONMENT_FLAGS,
  "no-share": {
    about: `report a conflict instead of sharing a table of another app; also "share": false in ${PROJECT_FILE}`,
  },
  wait: { value: "seconds", about: `max wait for another push; default ${WAIT_S}` },
};

/** Max seconds to wait for another push. */
export function readWait(args: Arguments): number {
  const text = args.text("wait");
  return text === undefined ? WAIT_S : readWhole("--wait", text, [0, MAX_WAIT_S]);
}
