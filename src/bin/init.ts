/** `rowhouse init`: the files that a new app project starts from. Never overwrites one that is there. @module */
import { basename, join } from "node:path";
import { readIfThere, writeAtomically } from "../std/files.ts";
import { type Command, EXIT, type ExitCode, type Setting } from "./cli/command.ts";
import { toDocument } from "./cli/terminal.ts";
import { writeIgnore } from "./db/types.ts";
import { HIDDEN_FOLDER } from "./dev/file.ts";

const SCHEMA = [
  "/** The tables of this app: rowhouse db push makes them true. */",
  'import { defineSchema, t } from "rowhouse/schema";',
  "",
  "export default defineSchema({",
  "  APP_notes: {",
  "    title: t.string().required(),",
  "    done: t.boolean().required().default(false),",
  '    noted_at: t.timestamp().required().default("now"),',
  "  },",
  "});",
  "",
].join("\n");

const ENVIRONMENT = `# The Rowhouse service, and a key of this app with the scope schema:push (never committed: copy this file to .env)
ROWHOUSE_URL=
ROWHOUSE_API_KEY=
`;

const TYPES_ENTRY = `${HIDDEN_FOLDER}/*.d.ts`;

const TSCONFIG = {
  compilerOptions: {
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ["**/*", TYPES_ENTRY],
};

export const initCommand: Command = {
  name: "init",
  summary: "starts a project: a schema, settings, and where TypeScript finds the types",
  example: "rowhouse init",
  about: `Writes schema/mod.ts, .env.example and tsconfig.json where they are missing; to an .env.example that is there it
adds the lines that it lacks. Nothing that is there is overwritten. Prints { written, kept, todo } with --json.`,
  positionals: [],
  flags: { json: { about: "one JSON document on standard output" } },
  run: runInit,
};

async function runInit({ args, folder, terminal }: Setting): Promise<ExitCode> {
  const done = [
    writeNew(folder, "schema/mod.ts", SCHEMA.replace("APP", toPrefix(folder))),
    addEnvironment(folder),
    writeNew(folder, "tsconfig.json", `${JSON.stringify(TSCONFIG, null, 2)}\n`),
  ];
  writeIgnore(folder);
  const named = (wrote: boolean) =>
    done.filter((one) => one.wrote === wrote).map(({ path }) => path);
  const todo = findTodo(folder);
  const result = { written: named(true), kept: named(false), todo };
  if (args.has("json")) terminal.say(toDocument(result));
  else {
    for (const path of result.written) terminal.say(`Wrote ${path}`);
    for (const path of result.kept) terminal.say(`Kept ${path}`);
    for (const line of result.todo) terminal.say(line);
    terminal.say(
      "Next: set ROWHOUSE_URL and ROWHOUSE_API_KEY in .env, then bun run rowhouse db plan",
    );
  }
  return EXIT.done;
}

/** What a project needs besides, by the files that say so, with what is to be done where they do not. */
const NEEDS: readonly { file: string; has: RegExp; line: string }[] = [
  {
    file: "tsconfig.json",
    has: /\.rowhouse\//,
    line: `Add ${JSON.stringify(TYPES_ENTRY)} to "include" of tsconfig.json: its patterns pass over hidden folders`,
  },
  {
    file: "package.json",
    has: /"rowhouse"/,
    line: "Add the package rowhouse to package.json: schema/mod.ts imports it",
  },
  {
    file: ".gitignore",
    has: /^\/?\.env$/m,
    line: "Add .env to .gitignore: it will hold the key",
  },
];

function findTodo(folder: string): string[] {
  return NEEDS.filter(({ file, has }) => !has.test(readIfThere(join(folder, file)) ?? "")).map(
    ({ line }) => line,
  );
}

type Done = { path: string; wrote: boolean };

function writeNew(folder: string, path: string, text: string): Done {
  const wrote = readIfThere(join(folder, path)) === undefined;
  if (wrote) writeAtomically(join(folder, path), text);
  return { path, wrote };
}

/** Settings that are there stay as they are, and where they are. */
function addEnvironment(folder: string): Done {
  const path = ".env.example";
  const before = readIfThere(join(folder, path)) ?? "";
  const lacks = ["ROWHOUSE_URL", "ROWHOUSE_API_KEY"].filter(
    (name) => !new RegExp(`^#?\\s*${name}=`, "m").test(before),
  );
  if (lacks.length === 0) return { path, wrote: false };
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  const lines = before === "" ? ENVIRONMENT : lacks.map((name) => `${name}=\n`).join("");
  writeAtomically(join(folder, path), `${before}${gap}${lines}`);
  return { path, wrote: true };
}

/** Table names are reserved organisation-wide: a first table carries the name of its project. */
function toPrefix(folder: string): string {
  const prefix = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
  return prefix.slice(0, 30) || "my";
}
