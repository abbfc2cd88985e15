/** The schema file that the Console of `dev` can extend: a file of the project, never one that a link leads to. @module */
import { realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { FindSchemaFile, SchemaFile } from "../../console/mod.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import type { DevProject } from "./projects.ts";

/** The schema files of the projects, by app. */
export function makeSchemaFiles(projects: readonly DevProject[]): FindSchemaFile {
  const files = projects.map(
    ({ name, setting, schema }) => [name.app, openSchemaFile(setting.folder, schema)] as const,
  );
  return (app) => new Map(files).get(app);
}

/** `file` is below `folder`, or the Console neither reads nor writes it. */
export function openSchemaFile(folder: string, file: string): SchemaFile {
  const path = relative(folder, file);
  const read = () => (isOwn(folder, path) ? readIfThere(file) : undefined);
  return {
    path: path.replaceAll(sep, "/"),
    read,
    replace: (before, after) => {
      if (read() !== before) return false;
      writeAtomically(file, after, { mode: statSync(file).mode & 0o777 });
      return true;
    },
  };
}

/** Whether no link and no `..` leads to the path. */
function isOwn(folder: string, path: string): boolean {
  if (path.split(sep)[0] === "..") return false;
  try {
    return realpathSync(join(folder, path)) === join(realpathSync(folder), path);
  } catch {
    return false;
  }
}
