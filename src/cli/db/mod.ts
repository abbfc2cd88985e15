/** `rowhouse db …`: pushes, plans, checks and compares an app's schema. @module */
import { join } from "node:path";
import {
  type Command,
  type CommandResult,
  EXIT,
  type ExitCode,
  RejectedError,
  type Setting,
} from "../command.ts";
import { DEV_FILE } from "../dev_file.ts";
import { makePaint } from "../paint.ts";
import {
  ALL_ENVIRONMENTS,
  checkStaysInside,
  DEV_ENVIRONMENT,
  PROJECT_FILE,
} from "../project_file.ts";
import { readSettings } from "../settings.ts";
import { changeCommands } from "./change.ts";
import { runComparison } from "./comparison.ts";
import { findConfirm } from "./confirm.ts";
import { describePush } from "./describe.ts";
import { findDestination } from "./destination.ts";
import { findSchemaFile } from "./evaluate.ts";
import { ENVIRONMENT_FLAGS, FILE_FLAGS, readWait, SCHEMA_FLAGS } from "./flags.ts";
import {
  checkJournalFiles,
  fetchMigrations,
  findJournalFolder,
  writeJournalFiles,
} from "./journal.ts";
import { findOwnDev, pushOwnDev } from "./own_dev.ts";
import { type ProjectPush, pushProject } from "./push.ts";
import { resolveCommand } from "./resolve.ts";
import { rulesCommand } from "./rules.ts";
import { withService } from "./service.ts";
import { readShare } from "./sharing.ts";
import { runStatus } from "./status.ts";

const ABOUT = `The key is read from ROWHOUSE_API_KEY, or for an environment from its own variable, such as ROWHOUSE_API_KEY_STAGING. There is no
flag for a key. A push requires the scope schema:push, schema:drop too if it deletes values, and schema:rules too if its rules give
people more rights; all other commands only schema:read. ${PROJECT_FILE} has the environments; commit it to version control, without keys:
  { "environments": { "staging": "https://api.staging.example.org",
                      "production": { "url": "https://api.example.org", "confirm": true } } }
Each command first says where it goes. --to ${DEV_ENVIRONMENT} is the running rowhouse dev of this folder (${DEV_FILE}), whose migrations stay private.
Without --to, --url and --app, the command goes to ROWHOUSE_URL, else to that rowhouse dev. If ${PROJECT_FILE} has environments, it
asks first which is meant, unless ROWHOUSE_URL is rowhouse dev; without a terminal it requires --to, or ROWHOUSE_URL and ROWHOUSE_API_KEY.`;

const RESULT =
  "Prints { status, replays, migration, steps, notes, shared, types, files } with --json.";

export const dbCommands: readonly Command[] = [
  {
    name: "db push",
    example: `ROWHOUSE_URL=https://api.example.org ROWHOUSE_API_KEY=… rowhouse db push
rowhouse db push --to staging
rowhouse db push --schema app/schema.ts --app wiki`,
    about: `${ABOUT}
First applies the migrations of this folder that the service lacks, one by one. After the push is committed, writes
schema/migrations/NNNN_<name>.sql and .rowhouse/types.d.ts. rowhouse dev has no migration files: a push to it also drops
what the schema no longer declares, after a question if it has rows. A push without changes writes no file. On a terminal, a push to an environment with "confirm": true first shows the plan and asks
for confirmation. So does a push that would share a table of another app.
${RESULT}`,
    positionals: [],
    flags: {
      ...SCHEMA_FLAGS,
      "dry-run": { about: "show the changes like db plan; change nothing" },
      yes: {
        about:
          "do not ask for confirmation: push to environments with confirm, share tables, and drop rows of dev",
      },
    },
    run: (setting) => runPush(setting, { dryRun: setting.args.has("dry-run") }),
  },
  {
    name: "db plan",
    example: "rowhouse db plan\nrowhouse db plan --to staging --json",
    about: `${ABOUT}
${RESULT}`,
    positionals: [],
    flags: SCHEMA_FLAGS,
    run: (setting) => runPush(setting, { dryRun: true }),
  },
  {
    name: "db check",
    example: "rowhouse db check\nrowhouse db check --to production",
    about: `${ABOUT}
Exits with 3 if changes are pending, and with 1 if the file of a migration is missing or was edited.
${RESULT}`,
    positionals: [],
    flags: SCHEMA_FLAGS,
    run: (setting) => runPush(setting, { dryRun: true }, toCheckResult),
  },
  ...changeCommands,
  resolveCommand,
  {
    name: "db pull",
    example: "rowhouse db pull",
    about: `${ABOUT}
Overwrites nothing: fails if a file was edited. Prints { files } with --json.`,
    positionals: [],
    flags: { ...FILE_FLAGS, ...ENVIRONMENT_FLAGS },
    run: runPull,
  },
  {
    name: "db status",
    example: `rowhouse db status\nrowhouse db status --to ${ALL_ENVIRONMENTS}`,
    about: `${ABOUT}
Without a schema in this folder, pending steps are omitted (null). With --app it also lists the apps that use each table,
and where the database differs from the recorded pushes (null while a table is locked). Exits with 1 if there is such a
difference, if the schema has errors, or if a migration was edited; these errors are printed last.
Prints { app, tables, pending, migrations, deferredSteps, apps, drift, schema } with --json; schema is null, or
{ error, message, details } of the error that prevents a push.

With --to ${ALL_ENVIRONMENTS} it prints a line per environment: the last migration, how many migrations the environment is ahead of this folder or behind
it, and the pending steps. Exits with the first of these codes that applies: 1 an environment fails or its history has diverged,
2 a key is not set, 4 a key is rejected, 69 an environment is unreachable, 3 an environment is not up to date.
Prints { environments: [{ environment, url, last, ahead, behind, pending, failure }] } with --json.`,
    positionals: [],
    flags: {
      ...FILE_FLAGS,
      ...ENVIRONMENT_FLAGS,
      to: {
        value: "environment",
        about: `an environment in ${PROJECT_FILE}, ${DEV_ENVIRONMENT}, or ${ALL_ENVIRONMENTS}`,
      },
    },
    run: (setting) =>
      setting.args.text("to") === ALL_ENVIRONMENTS ? runComparison(setting) : runStatus(setting),
  },
  rulesCommand,
];

async function runPush(
  setting: Setting,
  { dryRun }: { dryRun: boolean },
  toExitCode?: (pushed: ProjectPush) => ExitCode,
): Promise<CommandResult> {
  const { args, env, terminal } = setting;
  const waitS = readWait(args);
  const config = readSettings(env);
  const destination = await findDestination(setting, config);
  const stop = terminal.spin(dryRun ? "Planning" : "Pushing");
  const paint = makePaint(env, process.stdout.isTTY === true);
  const confirm = findConfirm(setting, destination, (result) => {
    stop();
    return describePush({ result }, paint);
  });
  const task = { destination, config, waitS, share: readShare(setting), confirm };
  const dev = findOwnDev(setting, destination);
  const pushed = await (dev === undefined
    ? pushProject(setting, { ...task, dryRun })
    : pushOwnDev(setting, { ...task, ...dev, dryRun }, stop)
  ).finally(stop);
  const { status, migration, steps, notes, shared, replays = [] } = pushed.result;
  const { types = null, files } = pushed;
  return {
    document: { status, replays, migration, steps, notes, shared, types, files },
    lines: describePush(pushed, paint),
    exitCode: toExitCode?.(pushed) ?? EXIT.done,
  };
}

/**
 * The exit code of a check: {@linkcode EXIT.pending} if changes are pending.
 *
 * @throws {RejectedError} the folder lacks a migration that the service has applied
 */
function toCheckResult({ result, missing }: ProjectPush): ExitCode {
  if (missing.length === 0) return result.status === "planned" ? EXIT.pending : EXIT.done;
  const message = "The service has applied this migration, but its file is missing";
  throw new RejectedError(
    `Migrations are missing: ${missing.join(", ")}. Run rowhouse db pull and commit them`,
    EXIT.rejected,
    { code: "missing_migration", details: missing.map((file) => ({ path: `/${file}`, message })) },
  );
}

async function runPull(setting: Setting): Promise<CommandResult> {
  const { env, folder, terminal } = setting;
  const config = readSettings(env);
  const destination = await findDestination(setting, config);
  const journal = findJournalFolder(setting, findSchemaFile(setting), destination);
  if (journal === undefined) return { document: { files: [] }, lines: ["Nothing to do"] };
  checkStaysInside(folder, join(journal, "0001"));
  const missing = await withService(destination, { config, terminal }, async (service) => {
    const { migrations } = await service.status();
    const checked = await checkJournalFiles({ folder, journal, destination }, migrations);
    return await fetchMigrations(service, checked.missing);
  });
  const files = await writeJournalFiles({ folder, journal }, missing);
  const lines = files.map((file) => `Wrote ${file}`);
  return { document: { files }, lines: lines.length === 0 ? ["Nothing to do"] : lines };
}
