/**
 * The tests of changed files, for `bun run check --changed`. A test is selected if it uses a changed file, or if it is in the folder
 * of a module of `src/` that uses it. The tests of isolation are always selected. What cannot be known selects more, never less.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { type Graph, reach, toGraph } from "./graph.ts";

/** The tests of isolation, by their names: of rows, rights, logins and attacks, also those that the route table generates. */
export const ISOLATION = /(isolation|matrix|attacks|hostile|stolen|grants|login)[^/]*_test\.tsx?$/;
/** What every test depends on. */
const EVERYTHING =
  /^(package\.json|bun\.lock|bunfig\.toml|tsconfig\.json|patches\/.*|test\/support\/preload\.ts)$/;
/** A file that lists a folder can read any file. */
const LISTS_FOLDERS = /\bGlob\b|\breaddir|\bscanSync\b/;
/** Of the driver. What reaches it acts on a database. */
const DRIVER = "src/db/mod.ts";
/** Their SQL is in the database of every test, whatever the test imports. */
const INSTALLED = /^src\/(db|tables)\//;
const TEST = /_test\.tsx?$/;

/** The first reason for each selected test. */
export type Selection = ReadonlyMap<string, string>;

export function selectTests(
  changed: readonly string[],
  tests: readonly string[],
  texts: ReadonlyMap<string, string>,
): Selection {
  const graph = toGraph(texts);
  const users = invert(graph);
  const near = invert(cutServers(graph, users));
  const selected = new Map<string, string>();
  const add = (test: string, reason: string) => {
    if (!selected.has(test)) selected.set(test, reason);
  };
  for (const file of changed) {
    if (EVERYTHING.test(file)) for (const test of tests) add(test, `every test depends on ${file}`);
    const known = texts.has(file) || users.has(file) ? [file] : findReaders(file, texts);
    if (known === undefined) for (const test of tests) add(test, `nothing tells who reads ${file}`);
    const [all, close] = [users, near].map(
      (graphOfUsers) => new Set((known ?? []).flatMap((start) => [...reach(graphOfUsers, start)])),
    );
    const modules = new Set(
      [...(all ?? [])].filter((path) => path.startsWith("src/") && !TEST.test(path)).map(moduleAt),
    );
    for (const test of tests) {
      const module = moduleOf(test, texts);
      const isUser = (module === undefined ? all : close)?.has(test) === true;
      if (isUser) add(test, test === file ? "changed" : `uses ${file}`);
      else if (module !== undefined && modules.has(module)) add(test, `${module} uses ${file}`);
    }
  }
  for (const test of tests) {
    if (ISOLATION.test(test)) add(test, "isolation, always");
    else if (changed.length > 0 && LISTS_FOLDERS.test(texts.get(test) ?? ""))
      add(test, "lists folders");
  }
  return new Map([...selected].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The users of each file, instead of what it uses. */
function invert(graph: Graph): Graph {
  const users = new Map<string, string[]>();
  for (const [path, targets] of graph)
    for (const target of targets) {
      const found = users.get(target);
      if (found === undefined) users.set(target, [path]);
      else found.push(path);
    }
  return users;
}

/**
 * Returns the graph without the way from helpers that act on a database to the program: almost every test uses one. A test of a module
 * then uses what it imports itself, and the module that its folder names.
 */
function cutServers(graph: Graph, users: Graph): Graph {
  const acting = reach(users, DRIVER);
  const isCut = (path: string) => path.startsWith("test/") && !TEST.test(path) && acting.has(path);
  return new Map(
    [...graph].map(([path, targets]) => [
      path,
      isCut(path)
        ? targets.filter((target) => !target.startsWith("src/") || INSTALLED.test(target))
        : targets,
    ]),
  );
}

/** Returns the files that read a file other than by an import; `undefined`: nothing tells. */
function findReaders(file: string, texts: ReadonlyMap<string, string>): string[] | undefined {
  const paths = [...texts.keys()];
  if (dirname(file).endsWith("__snapshots__")) {
    const test = join(dirname(file), "..", basename(file, ".snap"));
    return texts.has(test) ? [test] : [];
  }
  // A deleted file: what imported it has changed too.
  const inModule = paths.filter((path) => path.startsWith(`${moduleAt(file)}/`));
  if (file.startsWith("src/")) return inModule.length > 0 ? inModule : undefined;
  if (/\.tsx?$/.test(file) && file.startsWith("test/")) return [];
  // The program reads files of other folders by imports only. Its name, else that of its folder.
  for (const name of [basename(file), `${basename(dirname(file))}/`]) {
    const found = paths.filter(
      (path) => !path.startsWith("src/") && name !== "./" && texts.get(path)?.includes(name),
    );
    if (found.length > 0) return found;
  }
  return undefined;
}

/** Returns the module that the folder of a test is named after. */
function moduleOf(test: string, texts: ReadonlyMap<string, string>): string | undefined {
  if (test.startsWith("src/")) return undefined;
  const name = test.split("/")[1] ?? "";
  const module = `src/${name}`;
  return [...texts.keys()].some((path) => path.startsWith(`${module}/`)) ? module : undefined;
}

function moduleAt(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}
