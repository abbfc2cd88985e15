/** `rowhouse admin` as an operator runs it, next to a service over the same database. @module */
import { expect } from "bun:test";
import { makeProject, type Outcome, runHere, type Settings, startOnTerminal } from "./command.ts";
import { TEST_IDENTITY_SECRET } from "./deps.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./service.ts";

export type Admin = {
  service: TestService;
  /** Runs a command to its end. */
  run: (...words: string[]) => Promise<Outcome>;
  /** Starts a command before a person. */
  start: (...words: string[]) => ReturnType<typeof startOnTerminal>;
  /** What a command that succeeds prints with `--json`. */
  json: (...words: string[]) => Promise<Record<string, unknown>>;
  close: () => Promise<void>;
};

/** With settings besides those that every operator has, over a service with these options. */
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
  const run = (...words: string[]) => runHere(["admin", ...words], { ...project, env });
  return {
    service,
    run,
    start: (...words) => startOnTerminal(["admin", ...words], { ...project, env }),
    json: async (...words) => {
      const { code, out, err } = await run(...words, "--json");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      return JSON.parse(out) as Record<string, unknown>;
    },
    close: async () => {
      project.remove();
      await service.close();
    },
  };
}
