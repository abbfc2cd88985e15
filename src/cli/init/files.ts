/** The files of a new project. Only missing files are written. @module */
import { basename, join } from "node:path";
import type { Preview } from "../../preview.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { HIDDEN_FOLDER } from "../dev_file.ts";
import { toSlug } from "../package.ts";

/** The text of `schema/mod.ts`: two tables, one with a reference to the other. */
export function renderSchema(folder: string): string {
  const prefix = toPrefix(folder);
  return [
    "/** The tables of this app: rowhouse db push creates and updates them. */",
    'import { defineSchema, t } from "rowhouse/schema";',
    "",
    "export default defineSchema({",
    `  ${prefix}_folders: {`,
    "    name: t.string().required(),",
    "  },",
    `  ${prefix}_notes: {`,
    "    title: t.string().required(),",
    "    done: t.boolean().required().default(false),",
    '    noted_at: t.timestamp().required().default("now"),',
    `    folder: t.ref("${prefix}_folders", { onDelete: "cascade" }),`,
    "  },",
    "});",
    "",
  ].join("\n");
}

/** All apps share table names, so the names in a first schema start with the name of the project. */
export function toPrefix(folder: string): string {
  const prefix = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
  return prefix.slice(0, 30) || "my";
}

/** Bun also reads keys from `.env.local` and `.env.production`. */
export const IGNORE = "node_modules/\ndist/\n.env*\n!.env.example\n*.log\n";

export const TYPES_ENTRY = `${HIDDEN_FOLDER}/*.d.ts`;

const TSCONFIG = {
  compilerOptions: {
    target: "ESNext",
    lib: ["ESNext", "DOM", "DOM.Iterable"],
    module: "Preserve",
    moduleResolution: "bundler",
    jsx: "react-jsx",
    types: [] as readonly string[],
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ["**/*", TYPES_ENTRY],
};

/** The text of `tsconfig.json`, with the types of these packages. */
export function renderTsconfig(types: readonly string[]): string {
  const compilerOptions = { ...TSCONFIG.compilerOptions, types };
  return `${JSON.stringify({ ...TSCONFIG, compilerOptions }, null, 2)}\n`;
}

const ENVIRONMENT = `# The Rowhouse service, and a key of this app with the scope schema:push. Copy this file to .env; do not commit the key.
# With a running rowhouse dev, neither is required.
ROWHOUSE_URL=
ROWHOUSE_API_KEY=
# The key of an environment in rowhouse.json, here for --to staging:
# ROWHOUSE_API_KEY_STAGING=
`;

/** The text of `rowhouse.json`: the app, which keeps its name in any folder, and no environments yet. */
export function renderProject(folder: string, previews: readonly Preview[]): string {
  const app = toSlug(basename(folder));
  const needs = previews.length === 0 ? {} : { previews };
  return `${JSON.stringify({ app, ...needs, environments: {} }, null, 2)}\n`;
}

/** `parts`: the keys that were extended. */
export type Done = { path: string; wrote: boolean; parts?: readonly string[] };

/** Writes a file unless it exists. */
export function writeNew(folder: string, path: string, text: string): Done {
  const wrote = readIfThere(join(folder, path)) === undefined;
  if (wrote) writeAtomically(join(folder, path), text);
  return { path, wrote };
}

/** Adds missing settings; existing lines do not change. */
export function addEnvironment(folder: string): Done {
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
