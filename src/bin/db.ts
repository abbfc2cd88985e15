/** `rowhouse db …`: an app's schema made true, planned, checked and told. @module */
import type { PushResult } from "../push/mod.ts";
import {
  type Arguments,
  type Command,
  EXIT,
  type ExitCode,
  type Flags,
  type Setting,
} from "./command.ts";
import { type Pushed, pushProject } from "./db_push.ts";
import { findPlace, withService } from "./db_service.ts";
import { readSettings, readWhole } from "./settings.ts";
import { toDocument, toPrintable } from "./terminal.ts";

const WAIT_S = 60;
const MOST_WAIT_S = 3600;

const PLACE_FLAGS: Flags = {
  url: { value: "url", about: "the service; default ROWHOUSE_URL" },
  app: {
    value: "slug",
    about: "push straight to ADMIN_DATABASE_URL (else DATABASE_URL) as this app",
  },
  json: { about: "one JSON document on standard output" },
};
const SCHEMA_FLAGS: Flags = {
  schema: { value: "path", about: "the schema's file, or a folder with mod.ts; default schema/" },
  ...PLACE_FLAGS,
  wait: { value: "seconds", about: `how long to wait for another push; default ${WAIT_S}` },
};

const ABOUT = `The key is read from ROWHOUSE_API_KEY (scope schema:push), never from a flag. Without --url, ROWHOUSE_URL
and --app, the service of a running rowhouse dev in this folder is used (.rowhouse/dev.json).`;

export const dbCommands: readonly Command[] = [
  {
    name: "db push",
    summary: "makes the tables of this folder's schema true and writes their types",
    example: `ROWHOUSE_URL=https://api.example.org ROWHOUSE_API_KEY=… rowhouse db push
rowhouse db push --schema app/schema.ts --app wiki`,
    about: `${ABOUT}
Writes .rowhouse/types.d.ts. A push that changes nothing touches no file.
Prints { status, migration, steps, notes, types } with --json.`,
    positionals: [],
    flags: SCHEMA_FLAGS,
    run: (setting) => runPush(setting, { dryRun: false }, () => EXIT.done),
  },
  {
    name: "db plan",
    summary: "tells what db push would do, and writes nothing",
    example: "rowhouse db plan",
    about: ABOUT,
    positionals: [],
    flags: SCHEMA_FLAGS,
    run: (setting) => runPush(setting, { dryRun: true }, () => EXIT.done),
  },
  {
    name: "db check",
    summary: "as db plan, and exits with 3 where changes are pending",
    example: "rowhouse db check",
    about: ABOUT,
    positionals: [],
    flags: SCHEMA_FLAGS,
    run: (setting) =>
      runPush(setting, { dryRun: true }, ({ status }) =>
        status === "planned" ? EXIT.pending : EXIT.done,
      ),
  },
  {
    name: "db status",
    summary: "lists the tables and migrations that are recorded for the app",
    example: "rowhouse db status --json",
    about: ABOUT,
    positionals: [],
    flags: PLACE_FLAGS,
    run: runStatus,
  },
];

async function runPush(
  { args, env, folder, terminal }: Setting,
  { dryRun }: { dryRun: boolean },
  toExitCode: (result: PushResult) => ExitCode,
): Promise<ExitCode> {
  const waitS = readWait(args);
  const config = readSettings(env);
  const place = findPlace(args, config, folder);
  const project = { folder, schema: args.text("schema"), env, terminal };
  const pushed = await pushProject(project, { place, config, dryRun, waitS });
  if (args.has("json")) {
    const { status, migration, steps, notes } = pushed.result;
    terminal.say(toDocument({ status, migration, steps, notes, types: pushed.types ?? null }));
  } else for (const line of describePush(pushed)) terminal.say(toPrintable(line));
  return toExitCode(pushed.result);
}

function readWait(args: Arguments): number {
  const text = args.text("wait");
  return text === undefined ? WAIT_S : readWhole("--wait", text, [0, MOST_WAIT_S]);
}

const OPENINGS = {
  applied: "Applied",
  planned: "Would apply",
  unchanged: "Nothing to do",
} as const;

/** What a push did, for people: steps, notes, and the file that it wrote. */
export function describePush({ result, types }: Pushed): string[] {
  const { migration, status } = result;
  const number =
    migration === null ? "" : ` ${String(migration.seq).padStart(4, "0")}_${migration.name}`;
  return [
    `${OPENINGS[status]}${number}`,
    ...result.steps.map((step) => `  ${step}`),
    ...result.notes.map((note) => `Note: ${note}`),
    ...(types === undefined ? [] : [`Wrote ${types}`]),
  ];
}

async function runStatus({ args, env, folder, terminal }: Setting): Promise<ExitCode> {
  const config = readSettings(env);
  const place = findPlace(args, config, folder);
  const { app, tables, migrations } = await withService(place, config, (service) =>
    service.status(),
  );
  const names = tables.map(({ name }) => name);
  if (args.has("json")) {
    const made = migrations.map(({ seq, name, checksum }) => ({ seq, name, checksum }));
    terminal.say(toDocument({ app, tables: names, migrations: made }));
    return EXIT.done;
  }
  terminal.say(`App ${app}: ${names.length === 0 ? "no tables" : names.join(", ")}`);
  for (const { seq, name, checksum } of migrations)
    terminal.say(`  ${String(seq).padStart(4, "0")}_${name}  ${checksum.slice(0, 19)}`);
  return EXIT.done;
}
