/** Shared flags of `rowhouse db` commands. @module */
import { type Arguments, type Flags, JSON_FLAG, SCHEMA_FLAG } from "../command.ts";
import { DEV_ENVIRONMENT, PROJECT_FILE } from "../project_file.ts";
import { readWhole } from "../settings.ts";

const WAIT_S = 60;
const MAX_WAIT_S = 3600;

export const ENVIRONMENT_FLAGS = {
  url: {
    value: "url",
    about: "the service's URL; default: ROWHOUSE_URL, else the running rowhouse dev",
  },
  to: {
    value: "environment",
    about: `an environment in ${PROJECT_FILE}, such as staging, or ${DEV_ENVIRONMENT}: the running rowhouse dev`,
  },
  app: {
    value: "slug",
    about:
      "directly to the database as this app (ADMIN_DATABASE_URL, else DATABASE_URL, else the running rowhouse dev)",
  },
  json: JSON_FLAG,
} as const satisfies Flags;
export const FILE_FLAGS = {
  schema: SCHEMA_FLAG,
  journal: {
    value: "folder",
    about: "the migrations folder; default: migrations/ next to the schema, and none for dev",
  },
} as const satisfies Flags;
export const SCHEMA_FLAGS: Flags = {
  ...FILE_FLAGS,
  ...ENVIRONMENT_FLAGS,
  "no-share": {
    about: `report a conflict instead of sharing a table of another app; also "share": false in ${PROJECT_FILE}`,
  },
  wait: { value: "seconds", about: "max wait for another push", default: String(WAIT_S) },
};

/** Max seconds to wait for another push. */
export function readWait(args: Arguments): number {
  return readWhole("--wait", args.text("wait") ?? String(WAIT_S), [0, MAX_WAIT_S]);
}
