/**
 * The scripts of the pages, in TypeScript. They are bundled and minified at the first request (3 ms), so that neither the
 * container image nor the package needs a build. Every page works without scripts.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("scripts/", import.meta.url);
/** The folders whose files are in the scripts. */
const SOURCES = [
  FOLDER,
  ...["kinds", "rows", "sdk", "std"].map((module) => new URL(`../${module}/`, import.meta.url)),
];

/**
 * A page has at most one of the first four. Pages of rows also have `grid` or `import`, and pages that request a passkey have
 * `passkey`. The Console's pages have `theme`, which is not a module, so that it runs before the page is displayed. `grid` starts
 * the worker `search`.
 */
export const SCRIPT_NAMES = [
  "page",
  "console",
  "reference",
  "guide",
  "grid",
  "import",
  "passkey",
  "theme",
  "search",
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** The digest of the sources and of the bundler version, so that a name needs no bundling. */
export const SCRIPTS_DIGEST = digestSources();

function digestSources(): string {
  const hasher = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const folder of SOURCES)
    for (const file of readdirSync(folder).sort())
      if (file.endsWith(".ts")) hasher.update(readFileSync(new URL(file, folder)));
  return hasher.digest("hex").slice(0, 16);
}

/** @throws {AggregateError} a source cannot be read or bundled */
export async function bundleScript(name: ScriptName): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(new URL(`${name}.ts`, FOLDER))],
    target: "browser",
    minify: true,
  });
  return (await Promise.all(outputs.map((output) => output.text()))).join("");
}
