/**
 * The projects of a `dev`: the one in its folder, and those in `apps` of its `rowhouse.json`. One service and one database serve
 * them; each keeps its own schema, migrations, environments and `.rowhouse/`, so that commands select an app by their folder. `dev`
 * turns the previews on that their schemas need, and says so.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Preview } from "../../preview.ts";
import { type Definition, listRoles } from "../../schema/mod.ts";
import { acquireLock, type Lock } from "../../std/lock.ts";
import { quote } from "../../std/quote.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { RejectedError, type Setting, type Terminal } from "../command.ts";
import { evaluateSchema, findSchemaFile } from "../db/evaluate.ts";
import { writeIgnore } from "../db/types.ts";
import { DEV_FILE, HIDDEN_FOLDER, readDevFile } from "../dev_file.ts";
import { checkStaysInside, PROJECT_FILE, readProject } from "../project_file.ts";
import { type AppName, findAppName, nameAfterFolder } from "./app_name.ts";
import { type Watch, watchSchema } from "./watch.ts";

export type DevProject = {
  /** With the project's folder. Another project has no flags: they are for the project in dev's folder. */
  readonly setting: Setting;
  readonly name: AppName;
  /** The path from the folder of `dev`; empty for the project in it. */
  readonly path: string;
  /** The schema's file. */
  readonly schema: string;
  /** Began before the file was evaluated. */
  readonly watch: Watch;
  /** The schema at the start, or the error of its file. */
  readonly evaluated: Definition | RejectedError;
};

/** The folders of the other projects. @throws {RejectedError} a folder is missing, or is listed twice */
function listOtherFolders(folder: string): string[] {
  const listed = readProject(folder).apps;
  const folders = listed.map((path) => resolve(folder, path));
  for (const [index, path] of listed.entries()) {
    const found = folders[index] ?? "";
    if (!existsSync(found)) throw unusable(path, "the folder does not exist");
    if (found === resolve(folder)) throw unusable(path, "it is the folder of dev itself");
    if (folders.indexOf(found) !== index) throw unusable(path, "it is listed twice");
  }
  return folders;
}

function unusable(path: string, reason: string): RejectedError {
  return new RejectedError(`Cannot serve ${quote(path)} of "apps" in ${PROJECT_FILE}: ${reason}`);
}

/** The project in the folder of `dev`, and the others. */
export type DevProjects = readonly [DevProject, ...DevProject[]];

/** @throws {RejectedError} two apps have one name */
export async function openProjects(setting: Setting): Promise<DevProjects> {
  const { folder } = setting;
  const projects: [DevProject, ...DevProject[]] = [
    { setting, name: findAppName(setting), path: "", ...(await evaluate(setting)) },
  ];
  for (const other of listOtherFolders(folder)) {
    const app = readProject(other).app ?? nameAfterFolder(other);
    const path = relative(folder, other);
    if (projects.some(({ name }) => name.app === app))
      throw unusable(path, `another app has its name, ${app}: set "app" in its ${PROJECT_FILE}`);
    const args = withoutFlags(setting.args);
    const own = { ...setting, folder: other, args, terminal: labelLines(setting.terminal, path) };
    const name = { app, former: undefined, remembered: undefined };
    projects.push({ setting: own, name, path, ...(await evaluate(own)) });
  }
  for (const project of projects) writeIgnore(project.setting.folder);
  return projects;
}

/** The lines of another project name its folder: a command that they advise works only there. Questions are about dev's own. */
function labelLines(terminal: Terminal, path: string): Terminal {
  const label = (line: string) => (line === "" ? "" : line.replace(/^/gm, `${path}: `));
  return {
    ...terminal,
    canAsk: false,
    print: (line) => terminal.print(label(line)),
    warn: (line) => terminal.warn(label(line)),
  };
}

function withoutFlags(args: Setting["args"]): Setting["args"] {
  return { ...args, has: () => false, text: () => undefined, texts: () => [] };
}

/** Locks the projects and the folder of the database, which two projects can share. */
export function acquireLocks(folder: string, dataDir: string | undefined): Lock[] {
  const locks: Lock[] = [];
  const lock = (path: string, toMessage: () => string) => {
    const acquired = acquireLock(path);
    if (acquired === undefined) throw new RejectedError(toMessage());
    locks.push(acquired);
  };
  try {
    for (const [index, project] of [folder, ...listOtherFolders(folder)].entries()) {
      checkStaysInside(project, DEV_FILE);
      lock(join(project, HIDDEN_FOLDER, "dev.lock"), () => {
        const url = readDevFile(project)?.baseUrl;
        const where = url === undefined ? "it is starting" : `it runs at ${url}`;
        const what = index === 0 ? "this folder" : relative(folder, project);
        return `Another rowhouse dev is using ${what}: ${where}`;
      });
    }
    if (dataDir !== undefined)
      lock(
        `${dataDir}.lock`,
        () => `Another rowhouse dev is using the database in ${dataDir}: choose another --data-dir`,
      );
    return locks;
  } catch (error) {
    for (const { release } of locks) release();
    throw error;
  }
}

/** Previews, and what in a schema needs them. */
const NEEDS: Partial<Record<Preview, { what: string; isNeeded: (schema: Definition) => boolean }>> =
  {
    browser: {
      what: "rules for people",
      isNeeded: ({ tables }) => tables.some(({ rules }) => rules !== undefined),
    },
  };

export type Need = { readonly preview: Preview; readonly what: string };

async function evaluate(
  setting: Setting,
): Promise<Pick<DevProject, "schema" | "watch" | "evaluated">> {
  const schema = findSchemaFile(setting);
  const watch = watchSchema(schema);
  const evaluated = await evaluateSchema(setting, schema).catch((error: unknown) => {
    if (error instanceof RejectedError) return error;
    throw error;
  });
  return { schema, watch, evaluated };
}

/** The previews that the schema needs. An invalid file has none: the push reports it. */
export function findNeeds({ evaluated }: DevProject): Need[] {
  return evaluated instanceof Error ? [] : listNeeds(evaluated);
}

/** The roles of the schema's rules. */
export function findRoles({ evaluated }: DevProject): string[] {
  return evaluated instanceof Error ? [] : listRoles(evaluated.tables);
}

function listNeeds(schema: Definition): Need[] {
  return Object.entries(NEEDS).flatMap(([preview, { what, isNeeded }]) =>
    isNeeded(schema) ? [{ preview: preview as Preview, what }] : [],
  );
}

/** @throws {RejectedError} the schema has got what needs a preview that is off */
export function checkNeeds(schema: Definition, previews: readonly Preview[]): void {
  const missing = listNeeds(schema).find(({ preview }) => !previews.includes(preview));
  if (missing === undefined) return;
  throw new RejectedError(
    `The schema now has ${missing.what}, which need PREVIEW=${missing.preview}: stop rowhouse dev and start it again, which turns it on`,
  );
}

export function describeNeed({ preview, what }: Need, app: string): string {
  return `The schema has ${what}: dev turns PREVIEW=${preview} on, and ${preview} for the app ${app}. In production an operator does both (rowhouse admin set-app ${quoteForShell(app)} ${quoteForShell(preview)} on)`;
}
