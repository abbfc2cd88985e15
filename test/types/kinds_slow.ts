import { expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const COPIED = ["src", "tsconfig.json", "package.json"];

/** Adds a column kind to a copy of `src/`, and returns the files that do not compile. */
async function findFilesWithoutKind(folder: string): Promise<string[]> {
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const definition = join(folder, "src/dsl/definition.ts");
  const text = readFileSync(definition, "utf8");
  writeFileSync(
    definition,
    text.replace('  "ref",\n] as const', '  "ref",\n  "duration",\n] as const'),
  );
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const run = Bun.spawn([process.execPath, tsc, "--noEmit"], { cwd: folder });
  const output = await new Response(run.stdout).text();
  return [...new Set(output.match(/^src\/[\w/]+\.ts/gm))].map((path) => path.slice(4)).sort();
}

/** Returns the files in the list of CONTRIBUTING.md. */
function findListedFiles(): string[] {
  const guide = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
  const recipe = /### A column kind\n[\s\S]*?\n### /.exec(guide)?.[0] ?? "";
  const rows = recipe.match(/^ {3}- `[\w/]+\.ts`/gm) ?? [];
  return rows.map((row) => row.slice(6, -1)).sort();
}

test("a new column kind fails to compile exactly in the files that CONTRIBUTING.md lists", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-kinds-"));
  try {
    const files = await findFilesWithoutKind(folder);
    expect(files).toEqual(findListedFiles());
    expect(files.length).toBeGreaterThan(15);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
