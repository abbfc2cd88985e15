/** `rowhouse health`: checks whether the service on this machine is alive. Containers use it as health check. @module */

import { toLocalUrl } from "../std/network.ts";
import { type Command, EXIT, RejectedError } from "./command.ts";
import { readDevFile } from "./dev_file.ts";
import { readSettings } from "./settings.ts";

const PATIENCE_MS = 3000;

export const healthCommand: Command = {
  name: "health",
  example: "rowhouse health",
  about: `Requests GET /live, which does not depend on the database. Exits with 69 if there is no response within ${PATIENCE_MS / 1000} s.
If neither HOST nor PORT is set, checks a running rowhouse dev in this folder (.rowhouse/dev.json).`,
  positionals: [],
  flags: {},
  run: async ({ env, folder }) => {
    const { HOST, PORT } = readSettings(env);
    const dev = env["HOST"] || env["PORT"] ? undefined : readDevFile(folder);
    const url = `${dev?.baseUrl ?? toLocalUrl(HOST, PORT)}/live`;
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => {
      throw new RejectedError(`No response from ${url}`, EXIT.unreachable);
    });
    if (!response.ok) throw new RejectedError(`${url} returned ${response.status}`);
    return { lines: [`${url} is alive`] };
  },
};
