/**
 * Builds `dist/` of the client package from the sources of `rowhouse`: minified modules, the types that can be reached from
 * them, and the license. The package has no examples in its comments: they import `rowhouse`, and would double its size.
 *
 * @module
 */
import { copyFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { $, Glob } from "bun";

const HERE = import.meta.dir;
const ROOT = join(HERE, "../..");
const DIST = join(HERE, "dist");
const ENTRIES = [
  "schema/mod",
  "sdk/data",
  "sdk/identity",
  "sdk/app",
  "sdk/server",
  "sdk/testing",
  "sdk/live",
  "sdk/react",
];

/** What only the command and the service use of the schema language. */
const SERVICE_PART =
  /export \{[^}]*\} from "\.\/(check_rules|explain_rules|names|read_\w+|rule_changes|rule_notices)\.[jt]s";\n/g;
const SERVICE_VALUES = /export \{(?! type)[^}]*\} from "\.\/rules\.[jt]s";\n/g;
const RELATIVE_IMPORT = /(?:from |import\()"(\.[^"]+)\.[jt]s"/g;
/** Types that a program reaches only through others, so that no editor shows their comments. */
const INTERNAL =
  /\/(kinds\/(?!(date|json|ref|timestamp)\.)\w+|schema\/(issues|names|read_\w+|to_definition)|sdk\/(patches|select)|std\/\w+)\.d\.ts$/;
const COMMENT = /^ *\/\*\*[\s\S]*?\*\/\n/gm;
const EXAMPLE = /\n \*\n \* @example\n(?: \*(?!\/).*\n)*? \*\//g;
const INDENTED_EXAMPLE = /\n {5}\*\n {5}\* @example\n(?: {5}\*(?!\/).*\n)*? {5}\*\//g;

rmSync(DIST, { recursive: true, force: true });
await $`${process.execPath} ${join(ROOT, "node_modules/.bin/tsc")} --project ${HERE}`;
await trimTypes();
await Bun.build({
  entrypoints: ENTRIES.map((entry) => join(ROOT, "src", `${entry}.ts`)),
  root: join(ROOT, "src"),
  outdir: DIST,
  // The modules use only what browsers have, too: for a browser, Bun would add its own code that preloads chunks.
  target: "node",
  external: ["react"],
  minify: true,
  // Without it, each entry contains the parts that only another entry uses.
  splitting: true,
  naming: { chunk: "sdk/chunk_[hash].[ext]" },
  plugins: [
    {
      name: "schema-of-clients",
      setup: (build) => {
        build.onLoad({ filter: /src\/schema\/mod\.ts$/ }, async ({ path }) => ({
          contents: dropServiceParts(await Bun.file(path).text()),
          loader: "ts",
        }));
      },
    },
  ],
});
await markForBrowsers(join(DIST, "sdk/react.js"));
copyFileSync(join(ROOT, "LICENSE"), join(HERE, "LICENSE"));

function dropServiceParts(text: string): string {
  return text.replaceAll(SERVICE_PART, "").replaceAll(SERVICE_VALUES, "");
}

/** Frameworks with server components read this directive, which the bundler drops. */
async function markForBrowsers(file: string): Promise<void> {
  await Bun.write(file, `"use client";${await Bun.file(file).text()}`);
}

/** Removes examples, and every file that no entry point reaches. */
async function trimTypes(): Promise<void> {
  const reached = new Set<string>();
  for (const entry of ENTRIES) await reach(join(DIST, `${entry}.d.ts`), reached);
  for (const file of new Glob("**/*.d.ts").scanSync({ cwd: DIST, absolute: true }))
    if (!reached.has(file)) rmSync(file);
}

async function reach(file: string, reached: Set<string>): Promise<void> {
  if (reached.has(file)) return;
  reached.add(file);
  const written = await Bun.file(file).text();
  const types = file.endsWith("schema/mod.d.ts") ? dropServiceParts(written) : written;
  const text = INTERNAL.test(file)
    ? types.replaceAll(COMMENT, "")
    : types.replaceAll(EXAMPLE, "\n */").replaceAll(INDENTED_EXAMPLE, "\n     */");
  await Bun.write(file, text);
  for (const [, path = ""] of text.matchAll(RELATIVE_IMPORT))
    await reach(join(dirname(file), `${path}.d.ts`), reached);
}
