/** The example app as a project template: its files from this package, with the imports of a project. @module */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { toSlug } from "../cli/package.ts";

const PACKAGE = join(import.meta.dirname, "../../..");
const EXAMPLE = "examples/todo";

/** Files of the example, with the same paths in a project. */
const TODO_FILES: readonly string[] = [
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
];

/** Paths and texts of the template. */
export function toTodoFiles(folder: string): [path: string, text: string][] {
  const slug = JSON.stringify(toSlug(basename(folder)));
  const read = (path: string) =>
    readFileSync(join(PACKAGE, path), "utf8")
      .replace('"../../../schema/mod.ts"', '"../schema/mod.ts"')
      .replace('"../src/dsl/mod.ts"', '"rowhouse/schema"')
      .replace(/(\?\?|\|\|) "todo"/, (_, operator: string) => `${operator} ${slug}`);
  return [
    ["schema/mod.ts", read("schema/mod.ts")],
    ...TODO_FILES.map((path): [string, string] => [path, read(join(EXAMPLE, path))]),
  ];
}

/** The development packages of the example, with their versions. */
export function readTodoPackages(): Record<string, string> {
  const text = readFileSync(join(PACKAGE, EXAMPLE, "package.json"), "utf8");
  return (JSON.parse(text) as { devDependencies: Record<string, string> }).devDependencies;
}
