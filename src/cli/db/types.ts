/** Generated types of an app's tables. They import the schema, because only it knows the shapes of json columns. @module */
import { dirname, join, relative } from "node:path";
import { readIfThere, writeIfChanged } from "../../std/files.ts";
import { tryParseJsonc } from "../../std/jsonc.ts";
import type { Terminal } from "../command.ts";
import { HIDDEN_FOLDER } from "../dev_file.ts";

type TypesOptions = {
  folder: string;
  /** The schema's file. */
  file: string;
  tables: readonly string[];
  terminal: Terminal;
};

/** The path in the project's folder. */
export const TYPES_FILE = join(HIDDEN_FOLDER, "types.d.ts");

const IGNORE =
  "# Only the types are committed. All other files belong to this machine.\n*\n!.gitignore\n!types.d.ts\n";

/** Writes the types if they have changed; returns the path if it was written. */
export function writeTypes({ folder, file, tables, terminal }: TypesOptions): string | undefined {
  const path = join(folder, TYPES_FILE);
  const specifier = relative(dirname(path), file).replaceAll("\\", "/");
  const manifest = readIfThere(join(folder, "package.json")) ?? "";
  const library = manifest.includes('"rowhouse-client"') ? "rowhouse-client" : "rowhouse";
  const wrote = writeIfChanged(path, renderTypes(specifier, tables, library));
  writeIgnore(folder);
  if (!wrote) return undefined;
  const notice = findTypesNotice(folder);
  if (notice !== undefined) terminal.warn(notice);
  return relative(folder, path);
}

/** Keeps private files in the hidden folder out of the repository, before they are written. */
export function writeIgnore(folder: string): void {
  writeIfChanged(join(folder, HIDDEN_FOLDER, ".gitignore"), IGNORE);
}

/** The text of the types for these tables; `specifier` is the import of the schema. */
export function renderTypes(
  specifier: string,
  tables: readonly string[],
  library: "rowhouse" | "rowhouse-client",
): string {
  const parts = tables.map(
    (name) => `  ${name}: {
    row: Row<typeof schema, "${name}">;
    insert: Insert<typeof schema, "${name}">;
    update: Update<typeof schema, "${name}">;
    unique: Unique<typeof schema, "${name}">;
  };
`,
  );
  const used =
    tables.length === 0
      ? ""
      : `import type { Insert, Row, Unique, Update } from "${library}/schema";\nimport type schema from ${JSON.stringify(specifier)};\n\n`;
  return `// Written by rowhouse db push. Do not edit: the next push overwrites this file.\n${used || "export {};\n\n"}export interface Tables {\n${parts.join("")}}\n`;
}

/** A notice if the project's tsconfig.json does not include the types: its patterns skip hidden folders. */
function findTypesNotice(folder: string): string | undefined {
  const text = readIfThere(join(folder, "tsconfig.json"));
  const config = text === undefined ? undefined : tryParseJsonc(text);
  if (typeof config !== "object" || config === null) return undefined;
  const lists = ["include", "files"].map((key) => Reflect.get(config, key) as unknown);
  // Without reading extended files a notice could be wrong, so there is none.
  if (Object.hasOwn(config, "extends") && lists.every((list) => list === undefined))
    return undefined;
  const isFound = lists.some(
    (list) =>
      Array.isArray(list) &&
      list.some((pattern) => String(pattern).replace(/^\.\//, "").startsWith(HIDDEN_FOLDER)),
  );
  if (isFound) return undefined;
  return `Notice: tsconfig.json does not include ${TYPES_FILE}: add "${HIDDEN_FOLDER}/*.d.ts" to its "include", or import the file by name`;
}
