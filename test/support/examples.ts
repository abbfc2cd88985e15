/** Finds and runs the `@example` blocks of docstrings, so that the documentation stays correct. @module */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A ```ts block of an `@example`, with its position. */
export type Example = { readonly file: string; readonly line: number; readonly code: string };

const ROOT = resolve(import.meta.dir, "../..");
const DOCSTRING = /\/\*\*[\s\S]*?\*\//g;
const FENCE = /```ts\n([\s\S]*?)```/g;
const SPECIFIER = /(\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"/g;

/** Returns every example of the source files in a folder of the repository, such as `src/std`. */
export async function findExamples(folder: string): Promise<readonly Example[]> {
  const files = await findSources(folder);
  return (await Promise.all(files.map(readExamples))).flat();
}

/** Returns the TypeScript files without tests in a folder of the repository, relative to its root, sorted. */
export async function findSources(folder: string): Promise<readonly string[]> {
  const found = new Bun.Glob(`${folder}/**/*.ts`).scan({ cwd: ROOT });
  return (await Array.fromAsync(found)).filter((path) => !path.endsWith("_test.ts")).sort();
}

/** Runs an example as a module, with `expect` and the exports of its file. Rejects with the error that the example threw. */
export async function runExample(example: Example): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-example-"));
  const path = join(folder, "example.ts");
  try {
    await Bun.write(path, (await importUsed(example)) + (await resolveImports(example)));
    await import(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readExamples(file: string): Promise<readonly Example[]> {
  const source = await Bun.file(join(ROOT, file)).text();
  return [...source.matchAll(DOCSTRING)].flatMap((docstring) => {
    const tag = docstring[0].indexOf("@example");
    if (tag === -1) return [];
    const before = source.slice(0, docstring.index + tag);
    const text = docstring[0].slice(tag).replace(/^ *\* ?/gm, "");
    const line = before.split("\n").length;
    return [...text.matchAll(FENCE)].map((fence) => ({ file, line, code: fence[1] ?? "" }));
  });
}

/** Imports what the example uses of its file, and does not import or declare itself. */
async function importUsed({ file, code }: Example): Promise<string> {
  const path = resolve(ROOT, file);
  const used = Object.keys(await import(path)).filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(code) &&
      !new RegExp(`^(import|const|let|function)\\b[^=]*\\b${name}\\b`, "m").test(code),
  );
  return `import { expect } from "bun:test";\nimport { ${used.join(", ")} } from ${JSON.stringify(path)};\n`;
}

/** Resolves relative imports from the documented file, and `rowhouse/…` to the source of the package's export. */
async function resolveImports({ file, code }: Example): Promise<string> {
  const sources = await readSources();
  return code.replace(SPECIFIER, (_whole, start: string, name: string) => {
    return `${start}${JSON.stringify(toPath(name, file, sources))}`;
  });
}

/** Returns the source of every export of the package, from `tsconfig.json`. */
async function readSources(): Promise<ReadonlyMap<string, string>> {
  const { exports } = await Bun.file(join(ROOT, "package.json")).json();
  const { compilerOptions } = await Bun.file(join(ROOT, "tsconfig.json")).json();
  const exported = Object.keys(exports).map((key) => key.replace(".", "rowhouse"));
  return new Map(exported.map((name) => [name, compilerOptions.paths[name]?.[0]]));
}

function toPath(name: string, file: string, sources: ReadonlyMap<string, string>): string {
  if (name.startsWith(".")) return resolve(ROOT, dirname(file), name);
  // A package is found from the repository: the example runs elsewhere. "bun:test" is no package.
  if (!name.startsWith("rowhouse/")) return name.includes(":") ? name : Bun.resolveSync(name, ROOT);
  const source = sources.get(name);
  if (source === undefined) throw new Error(`Cannot resolve "${name}": no such export`);
  return resolve(ROOT, source);
}
