/**
 * Which file of the repository uses which: by imports, static and dynamic, except of types alone, which have no effect at run time; and by a path beside `import.meta`, such as of a
 * process that a test starts. A path that is only computed is not known.
 *
 * @module
 */
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";

export type Import = { name: string; isType: boolean };
/** The files that each file uses, by paths from the repository. */
export type Graph = ReadonlyMap<string, readonly string[]>;

const ROOT = join(import.meta.dirname, "../..");
const CODE = "{src,test,bench,tools,schema,examples}/**/*.{ts,tsx}";
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^;"'`]*?from\s+"([^"]+)"|(?:^|\n)\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/g;
const BESIDE =
  /new URL\(\s*"([^"]+)",\s*import\.meta\.url|\bimport\.meta\.dir(?:name)?(?:,\s*"([^"]+)"|\}\/([^`$]+)`)/g;
const TS = new Bun.Transpiler({ loader: "ts" });
const TSX = new Bun.Transpiler({ loader: "tsx" });
/** What the compiler imports for JSX. */
const JSX = "src/pages/html.ts";

export function readImports(text: string): Import[] {
  return [...text.matchAll(IMPORT)].map((match) => ({
    name: match[2] ?? match[3] ?? match[4] ?? "",
    isType: match[1] !== undefined,
  }));
}

/** Returns the text of every file of code. */
export async function readTexts(): Promise<ReadonlyMap<string, string>> {
  const files = [...new Glob(CODE).scanSync({ cwd: ROOT })].filter(
    (path) => !path.includes("node_modules/"),
  );
  return new Map(
    await Promise.all(
      files.sort().map(async (path) => [path, await Bun.file(join(ROOT, path)).text()] as const),
    ),
  );
}

const GRAPHS = new WeakMap<ReadonlyMap<string, string>, Graph>();

/** Reading the imports of all files takes a second: once for the same texts. */
export function toGraph(texts: ReadonlyMap<string, string>): Graph {
  const known = GRAPHS.get(texts);
  const graph = known ?? new Map([...texts].map(([path, text]) => [path, readTargets(path, text)]));
  GRAPHS.set(texts, graph);
  return graph;
}

function readTargets(path: string, text: string): string[] {
  const transpiler = path.endsWith("x") ? TSX : TS;
  const imports = transpiler.scanImports(text.replace(/^#!.*/, "")).map(({ path: name }) => name);
  const beside = [...text.matchAll(BESIDE)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  const targets = [
    ...imports.filter((name) => name.startsWith(".")),
    ...beside.filter((name) => /\.\w+$/.test(name)),
  ].map((name) => normalize(join(dirname(path), name)));
  return [...new Set(path.endsWith(".tsx") ? [...targets, JSX] : targets)];
}

/** Returns the file and all that it uses. Does not continue behind files for which `isEnd` is true. */
export function reach(
  graph: Graph,
  start: string,
  isEnd: (path: string) => boolean = () => false,
): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const path of reached)
    if (!isEnd(path)) for (const target of graph.get(path) ?? []) reached.add(target);
  return reached;
}

/** Whether a test opens the tests' server, or one of its own: itself or by a helper, not by the program that it tests. */
export function needsDatabase(graph: Graph, test: string): boolean {
  const reached = [...reach(graph, test, (path) => path.startsWith("src/"))];
  return reached.some(
    (path) => path === "test/support/cluster.ts" || path.startsWith("src/db/embedded/"),
  );
}
