/**
 * Bundles the program with the packages that it requires into `dist/program/`, with their licenses. A project installs one package
 * of a fifth of their size, with the patched driver, and a command starts without reading hundreds of files. The manifest in the
 * package refers to these files; after packing it is restored. Run as `build_program.ts pack` or `build_program.ts restore`.
 *
 * @module
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type BunPlugin, Glob } from "bun";
import { bundleScript, SCRIPT_NAMES } from "../src/pages/mod.ts";

const ROOT = join(import.meta.dirname, "..");
const PROGRAM = join(ROOT, "dist/program");
const MANIFEST = join(ROOT, "package.json");
/** Only while a package is packed; npm and Bun never pack this ending. */
const UNPACKED = `${MANIFEST}.orig`;

/** Each runs in a process or thread of its own. */
const ENTRIES = [
  "cli/rowhouse.ts",
  "cli/db/evaluate_process.ts",
  "cli/db/evaluate_guard.ts",
  "db/embedded/process.ts",
  "tables/work_worker.ts",
];
/** They start another entry, which is beside them in the bundle; the other modules read files of `src/` and `docs/`. */
const STARTERS = /src\/(cli\/db\/evaluate(_process)?|db\/embedded\/mod|tables\/work_thread)\.ts$/;
/** What the program reads from `src/` when it runs. */
const READ = ["src/db/{code,migrations}/**/*.sql", "src/{identity,pages}/**/*.{bin,css,svg}"];
const COMMENT = /^ *\/\*\*[\s\S]*?\*\/\n/gm;
/** The folder of a bundled source's package. */
const PACKAGE = /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/;

function restore(): void {
  if (existsSync(UNPACKED)) renameSync(UNPACKED, MANIFEST);
}

async function pack(): Promise<void> {
  restore(); // after a run that was interrupted
  await bundleProgram();
  const entry = await Bun.file(join(ROOT, "src/cli/entry.js")).text();
  await Bun.write(
    join(PROGRAM, "entry.js"),
    entry
      .replaceAll('"./rowhouse.ts"', '"./rowhouse.js"')
      .replace("../../dist/command", "../command"),
  );
  await removeComments();
  for (const name of SCRIPT_NAMES)
    await Bun.write(join(PROGRAM, `scripts/${name}.js`), await bundleScript(name));
  await writeManifest();
}

/** Removes the comments from the modules for apps: editors show those of their types. */
async function removeComments(): Promise<void> {
  for (const path of new Glob("{sdk,schema,kinds,std}/*.js").scanSync({
    cwd: join(ROOT, "dist"),
  })) {
    const file = Bun.file(join(ROOT, "dist", path));
    await file.write((await file.text()).replaceAll(COMMENT, ""));
  }
}

async function writeManifest(): Promise<void> {
  await Bun.write(UNPACKED, Bun.file(MANIFEST));
  const { dependencies: _, patchedDependencies: __, ...manifest } = await Bun.file(MANIFEST).json();
  const read = READ.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: ROOT })]);
  await Bun.write(
    MANIFEST,
    JSON.stringify({
      ...manifest,
      bin: { rowhouse: "./dist/program/entry.js" },
      files: [
        ...manifest.files.filter((path: string) => !/^!?src\b|^patches$/.test(path)),
        ...read.toSorted(),
      ],
    }),
  );
}

async function bundleProgram(): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: ENTRIES.map((path) => join(ROOT, "src", path)),
    outdir: PROGRAM,
    naming: { entry: "[name].js", chunk: "[hash].js" },
    target: "bun",
    splitting: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
    sourcemap: "external",
    plugins: [keepPaths, shortenPackages],
  });
  const sources = new Set<string>();
  for (const { path } of outputs.filter(({ kind }) => kind === "sourcemap")) {
    const map: { sources: string[] } = await Bun.file(path).json();
    for (const source of map.sources) sources.add(source);
    rmSync(path);
  }
  await Bun.write(join(PROGRAM, "LICENSES.txt"), await collectLicenses(sources));
}

/** Shortens local names; those of a module's own functions and classes stay, as they are in reported stack traces. */
function makeShorten(loader: "js" | "ts"): (text: string) => string {
  // Bun's types lack the option.
  const minify = { whitespace: true, syntax: true, identifiers: true };
  const options = { loader, minify } as const;
  const transpiler = new Bun.Transpiler(options);
  return (text) => transpiler.transformSync(text);
}

/** A module that reads files relative to itself still does after it was bundled. */
const keepPaths: BunPlugin = {
  name: "keep-paths",
  setup: (build) => {
    const shorten = makeShorten("ts");
    build.onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => {
      const text = await Bun.file(path).text();
      const location = JSON.stringify(relative(PROGRAM, path));
      const folder = JSON.stringify(`/${relative(PROGRAM, dirname(path))}`);
      const contents = STARTERS.test(path)
        ? text
        : text
            .replaceAll(/\bimport\.meta\.dir(name)?\b/g, `(import.meta.dirname + ${folder})`)
            .replaceAll(/\bimport\.meta\.url\b/g, `new URL(${location}, import.meta.url).href`);
      if (path.endsWith("x")) return { contents, loader: "tsx" };
      // The transpiler drops the attributes of imports.
      if (/ with \{ type: "/.test(text)) return { contents, loader: "ts" };
      return { contents: shorten(contents), loader: "js" };
    });
  },
};

const shortenPackages: BunPlugin = {
  name: "shorten-packages",
  setup: (build) => {
    const shorten = makeShorten("js");
    build.onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, async ({ path }) => ({
      contents: shorten(await Bun.file(path).text()),
      loader: "js",
    }));
  },
};

/** Packages with the same license text are listed together. */
async function collectLicenses(sources: ReadonlySet<string>): Promise<string> {
  const folders = new Set([...sources].flatMap((path) => path.match(PACKAGE)?.[0] ?? []));
  const namesByText = new Map<string, string[]>();
  for (const path of [...folders].toSorted()) {
    const folder = join(ROOT, path);
    const { name, version, license } = await Bun.file(join(folder, "package.json")).json();
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    const text = file === undefined ? "" : await Bun.file(join(folder, file)).text();
    const key = text.replaceAll(/\s+/g, " ");
    namesByText.set(key, [...(namesByText.get(key) ?? [text]), `${name} ${version} (${license})`]);
  }
  return [...namesByText.values()]
    .map(([text, ...names]) => `${names.join("\n")}\n\n${text}`)
    .join("\n----\n\n");
}

if (process.argv[2] === "restore") restore();
else await pack();
