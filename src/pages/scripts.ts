/**
 * The scripts of the pages, from TypeScript: bundled and minified when a browser first asks for one (3 ms), so that
 * neither an image nor a package needs a build. They only add; every page works without them.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("scripts/", import.meta.url);
/** Of other rooms, scripts import from these only; `matches()` of `sdk` compares rows. */
const SOURCES = [
  FOLDER,
  ...["rows", "sdk", "std"].map((room) => new URL(`../${room}/`, import.meta.url)),
];

/**
 * Every page has at most one of the first four; those of an app's rows have `grid` or `import` as well, those that ask for a
 * passkey `passkey`. The Console's have `theme`, which is no module: it runs before anything is shown. `search` is a worker,
 * which `grid` starts.
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

/** Of all sources and of the bundler: the same sources make the same script, and nothing need be bundled to name it. */
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
