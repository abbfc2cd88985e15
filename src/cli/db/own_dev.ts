/** The `dev` of this folder as the destination of a command: its tables follow the schema, as after a save. @module */
import type { Setting } from "../command.ts";
import { DEV_FILE, findDevFile } from "../dev_file.ts";
import type { Answers } from "./dev_renames.ts";
import type { DevPush } from "./dev_tables.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import type { ProjectPush } from "./push.ts";
import type { Destination } from "./service.ts";

/** The `dev` of this folder, whose tables follow the schema; `undefined` for any other destination, or another app of `dev`. */
export function findOwnDev({ folder }: Setting, destination: Destination) {
  if (destination.kind !== "service" || destination.app === undefined) return undefined;
  const dev = findDevFile(folder);
  if (dev === undefined) return undefined;
  // On any host: the database is opened only after the service on this machine has accepted the key of this file.
  const address = { url: dev.databaseUrl, variable: DEV_FILE };
  return { destination, address, app: dev.app };
}

/** Pushes to this `dev`, or plans it. Without a terminal, or without an answer, nothing with rows is dropped. */
export async function pushOwnDev(
  setting: Setting,
  task: Omit<DevPush, "definition" | "answers" | "print">,
  stopProgress: () => void = () => undefined,
): Promise<ProjectPush> {
  const { askForAnswers, pushToDev, UndecidedError } = await import("./dev_tables.ts");
  const { terminal } = setting;
  const definition = await evaluateSchema(setting, findSchemaFile(setting));
  // The command itself says that an added name is new. A plan mentions that it may not be.
  const drops = setting.args.has("yes") || task.dryRun === true ? "all" : [];
  const separate = task.dryRun === true ? [] : "all";
  let answers: Answers = { renames: [], separate, drops };
  for (;;) {
    try {
      return await pushToDev(setting, { ...task, definition, answers, print: terminal.warn });
    } catch (error) {
      if (!(error instanceof UndecidedError && terminal.canAsk)) throw error;
      stopProgress();
      const decided = await askForAnswers(terminal, error, { answers });
      if (decided === undefined) throw error;
      answers = decided;
    }
  }
}
