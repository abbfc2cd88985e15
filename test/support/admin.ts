/** Runs `rowhouse admin` as an operator does, next to a service on the same database. @module */
import { expect } from "bun:test";
import { makeProject, type Outcome, runHere, type Settings, startOnTerminal } from "./command.ts";
import { TEST_IDENTITY_SECRET } from "./deps.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./service.ts";

export type Admin = AsyncDisposable & {
  service: TestService;
  /** The folder of the commands. */
  folder: string;
  /** Runs a command to its end. */
  run: (...argv: string[]) => Promise<Outcome>;
  /** Starts a command on a terminal. */
  start: (...argv: string[]) => ReturnType<typeof startOnTerminal>;
  /** Runs a command with `--json` and returns its output. */
  json: (...argv: string[]) => Promise<Record<string, unknown>>;
  close: () => Promise<void>;
};

/** What a command also prints if it comes while the service itself writes, such as the last use of a key. */
const WAITING = /^Waiting for transactions that began before: .*\n/m;

/** `settings` are added to the operator's environment. */
export async function openAdmin(
  settings: Settings = {},
  options: TestServiceOptions = {},
): Promise<Admin> {
  const service = await openTestService(options);
  const project = makeProject();
  const env = {
    ADMIN_DATABASE_URL: service.database.adminUrl,
    COOKIE_DOMAIN: "example.org",
    IDENTITY_URL: "https://id.example.org",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    ...settings,
  };
  const run = (...argv: string[]) => runHere(["admin", ...argv], { ...project, env });
  const close = async () => {
    project.remove();
    await service.close();
  };
  return {
    service,
    folder: project.folder,
    run,
    start: (...argv) => startOnTerminal(["admin", ...argv], { ...project, env }),
    json: async (...argv) => {
      const { code, out, err } = await run(...argv, "--json");
      expect({ code, err: err.replace(WAITING, "") }).toEqual({ code: 0, err: "" });
      return JSON.parse(out) as Record<string, unknown>;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
