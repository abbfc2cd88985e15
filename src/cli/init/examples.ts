/** The examples as project templates: their files from this package, with the imports of a project. @module */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { toSlug } from "../package.ts";
import type { Additions, Texts } from "./manifest.ts";

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
