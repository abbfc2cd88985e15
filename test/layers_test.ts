/** The rules of the architecture as tests: allowed imports, and modules that can use a feature. @module */
import { describe, expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";
import CIRCLES from "./house/circles.json";
import { type Import, needsDatabase, readImports, readTexts, toGraph } from "./house/graph.ts";

/** The layer of every module. `sdk` has no layer, because it runs in other programs. */
const LAYERS: Readonly<Record<string, number>> = {
  cli: 8,
  service: 7,
  settings: 7,
  console: 6,
  openapi: 6,
  archive: 6,
  gateway: 5,
  data: 5,
  tables: 5,
  identity: 5,
  mail: 5,
  records: 4,
  "tables/catalog": 4,
  pages: 4,
  rows: 3,
  http: 3,
  db: 3,
  schema: 2,
  "app_switch.ts": 2,
  "field.ts": 2,
  "observe.ts": 2,
  "said.ts": 2,
  "problem.ts": 1,
  "format.ts": 1,
  "limit_setting.ts": 1,
  "preview.ts": 1,
  "role.ts": 1,
  "principal.ts": 1,
  kinds: 1,
  std: 0,
};

/** The folders of `records/`, each entered by its own mod.ts. Files import from their own folder and from earlier folders. */
const SUBJECTS = [
  ...["secrets", "actions", "apps", "people", "sessions", "account_settings", "mails", "console"],
];

type Source = { path: string; module: string; text: string; imports: Import[] };

/** Tests beside their subject. */
const TEST = /_test\.tsx?$/;

/** A folder or file of `src/`. The catalog is a module of its own inside `tables/`. */
function toModule(path: string): string {
  return path.startsWith("tables/catalog/") ? "tables/catalog" : (path.split("/")[0] ?? "");
}

const sources: Source[] = await Promise.all(
  listFiles("**/*.{ts,tsx,sql}")
    .filter((path) => !TEST.test(path))
    .map(async (path) => {
      const text = await Bun.file(join("src", path)).text();
      return { path, module: toModule(path), text, imports: readImports(text) };
    }),
);

function listFiles(pattern: string): string[] {
  return [...new Glob(pattern).scanSync("src")].sort();
}

/** Without comments, because a comment can name something that the code does not do. */
const codeOf = ({ path, text }: Source) =>
  text.replace(path.endsWith(".sql") ? /--.*$/gm : /\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, "");
const holders = (pattern: RegExp) =>
  sources.filter((source) => pattern.test(codeOf(source))).map(({ path }) => path);
const within = (paths: readonly string[], allowed: RegExp) =>
  paths.filter((path) => !allowed.test(path));

function findTarget(source: Source, name: string): string | undefined {
  return name.startsWith(".") ? normalize(join(dirname(source.path), name)) : undefined;
}

const edges = sources.flatMap((source) =>
  source.imports.flatMap(({ name, isType }) => {
    const target = findTarget(source, name);
    return target === undefined
      ? []
      : [{ from: source.path, module: source.module, target, isType }];
  }),
);

/** Scripts of pages import the SDK to compare rows: both run in browsers. */
const isBrowserImport = (from: string, to: string) =>
  to === "sdk" && from.startsWith("pages/scripts/");

describe("imports", () => {
  test("exist", () => {
    expect(edges.length).toBeGreaterThan(100);
    expect(sources.length).toBeGreaterThan(60);
  });

  test("come from modules that have a layer", () => {
    const unknown = sources.filter(
      ({ module }) => LAYERS[module] === undefined && module !== "sdk",
    );
    expect(unknown.map(({ path }) => path)).toEqual([]);
  });

  test("go to lower layers only, and modules of a layer do not import each other", () => {
    const upward = edges.filter(({ from, module, target }) => {
      const to = toModule(target);
      if (module === to || module === "sdk" || isBrowserImport(from, to) || to.startsWith(".."))
        return false;
      return (LAYERS[to] ?? Number.POSITIVE_INFINITY) >= (LAYERS[module] ?? 0);
    });
    expect(upward).toEqual([]);
  });

  test("reach a module through its mod.ts, or through a file without database and packages", () => {
    const pastTheEntry = edges.filter(({ from, module, target, isType }) => {
      const to = toModule(target);
      if (module === to || to === "std" || to.startsWith("..") || to === target) return false;
      if (isBrowserImport(from, to)) return false;
      const [subject = "", ...inside] = target.slice(to.length + 1).split("/");
      const isSubject = to === "records" && SUBJECTS.includes(subject);
      const entry = isSubject ? inside.join("/") : [subject, ...inside].join("/");
      if (entry === "mod.ts") return false;
      return !(["settings", "cli", "service"].includes(module) && (isType || isLight(target)));
    });
    expect(pastTheEntry).toEqual([]);
    expect(isLight("db/mod.ts")).toBe(false);
    expect(isLight("identity/settings.ts")).toBe(true);
  });

  test("go from a folder of records/ only to folders that are listed earlier", () => {
    const toSubject = (path: string) => SUBJECTS.indexOf(/^records\/(\w+)\//.exec(path)?.[1] ?? "");
    const later = edges.filter(
      ({ from, target }) => toSubject(from) >= 0 && toSubject(target) > toSubject(from),
    );
    expect(later).toEqual([]);
    const files = sources.filter(({ module, path }) => module === "records" && toSubject(path) < 0);
    expect(files.map(({ path }) => path)).toEqual([]);
  });

  test("leave the SDK only for types and for the order of values, and enter the SDK only from scripts of pages", () => {
    const values = edges.filter(
      ({ module, target, isType }) => module === "sdk" && !isType && !target.startsWith("sdk/"),
    );
    expect(values.map(({ from, target }) => `${from} ${target}`)).toEqual([
      "sdk/matches.ts kinds/mod.ts",
    ]);
    const others = edges.filter(
      ({ module, from }) => module !== "sdk" && !isBrowserImport(from, "sdk"),
    );
    expect(others.filter(({ target }) => target.startsWith("sdk/"))).toEqual([]);
  });

  test("have no cycles between files, including type imports", () => {
    expect(findCycles(edges)).toEqual([]);
    const example = ["a b", "b c", "c a", "c d", "d d", "d e"].map((edge) => edge.split(" "));
    expect(findCycles(example.map(([from = "", target = ""]) => ({ from, target })))).toEqual([
      ["a", "b", "c"],
      ["d"],
    ]);
  });

  test("have no circles between folders, where a folder counts as one file of the folder that it is in", () => {
    const found = countCircles(edges);
    const listed: Readonly<Record<string, number>> = CIRCLES;
    // Not listed: move the file or the part of it that both folders need next to them.
    expect([...found].filter(([pair, count]) => count > (listed[pair] ?? 0))).toEqual([]);
    // Listed, and gone: take it off the list, which may only shrink.
    expect(
      Object.entries(listed).filter(([pair, count]) => count > (found.get(pair) ?? 0)),
    ).toEqual([]);
    const example = [
      "m/a/x.ts m/top.ts",
      "m/top.ts m/b/y.ts",
      "m/b/z.ts m/a/x.ts",
      "m/b/z.ts n/a.ts",
    ]
      .map((edge) => edge.split(" "))
      .map(([from = "", target = ""]) => ({ from, target }));
    expect([...countCircles(example).keys()]).toEqual(["m/a m/top.ts", "m/top.ts m/b", "m/b m/a"]);
    expect(countCircles(example.slice(1)).size).toBe(0);
  });

  /** The name of a section of OpenID Connect has the term too. */
  test("know about Citus in at most 15 files outside db/citus", () => {
    const knowing = sources.filter(({ text }) => /citus|distributed(?!Claims)/i.test(text));
    const outside = knowing.map(({ path }) => path).filter((path) => !path.startsWith("db/citus/"));
    expect(knowing.length - outside.length).toBeGreaterThan(10);
    expect(outside).toContain("db/dialects.ts");
    expect(outside.length).toBeLessThanOrEqual(15);
  });

  test('name "postgres" only in db', () => {
    const found = sources.filter(({ imports }) => imports.some(({ name }) => name === "postgres"));
    expect(found.length).toBeGreaterThan(0);
    expect(
      within(
        found.map(({ path }) => path),
        /^db\//,
      ),
    ).toEqual([]);
  });
});

describe("only allowed modules", () => {
  test.each([
    {
      action: "read the environment",
      example: "const { env } = process;",
      pattern: /process\.env|\benv\b[^;{}]*\} = process\b|Bun\.env|import\.meta\.env/,
      allowed: /^cli\/rowhouse\.ts$/,
    },
    {
      action: "print",
      example: "console.log(1)",
      pattern: /console\.\w+\(|process\.stdout|process\.stderr/,
      allowed: /^(cli\/|db\/embedded\/process\.ts$)/,
    },
    {
      // tables/sql/migration.ts, service/logins/limits.ts and the help of cli/migrate.ts contain DDL in messages.
      action: "write DDL",
      example: "create table a",
      pattern:
        /\b(create|alter|drop) (or replace )?(table|function|index|unique index|type|policy|schema|role|domain|trigger)\b|\b(grant|revoke) (all|execute|select|usage|create|insert)\b/i,
      allowed:
        /^(tables\/(sql\/(ddl|functions\/functions|migration)|plan\/retype_messages)\.ts$|cli\/migrate\.ts$|service\/logins\/(rights|limits)\.ts$|db\/)/,
    },
    {
      action: "construct a principal",
      example: "makePrincipal(app)",
      pattern: /\bmakePrincipal\b/,
      allowed: /^(gateway\/|principal\.ts$)/,
    },
    {
      action: "begin a transaction",
      example: "sql.begin(run)",
      pattern: /sql\.begin|\.begin\(|\bbegin transaction\b|"begin"|`begin;/i,
      allowed: /^$/,
    },
    {
      action: "declare a class",
      example: "export class Pool {",
      // Classes are for errors and for state that lives as long as the process.
      pattern: /^(export )?class (?!\w+ extends (Error|Problem|\w*Error)\b)/m,
      allowed: /^(std\/bounded|db\/pool\/(acquire|connections|groups))\.ts$/,
    },
    {
      action: "use the type any",
      example: "value: any",
      pattern: /: any\b|<any>|as any\b/,
      allowed: /^$/,
    },
    {
      action: "have a default export",
      example: "export default 1",
      pattern: /^export default/m,
      allowed: /^$/,
    },
    {
      action: "set state of a database session",
      example: "set session a = 1",
      pattern: /\bset_config\([^)]*false\)|\bset session\b/i,
      allowed: /^$/,
    },
  ])("$action", ({ pattern, example, allowed }) => {
    expect(example).toMatch(pattern);
    const found = holders(pattern);
    expect(found.length > 0).toBe(allowed.source !== "^$");
    expect(within(found, allowed)).toEqual([]);
  });
});

describe("commands that people copy", () => {
  const texts = sources
    .filter(({ path }) => /\.tsx?$/.test(path) && !path.startsWith("std/"))
    .flatMap((source) =>
      codeOf(source)
        .split("\n")
        .map((line) => ({ path: source.path, line })),
    );

  test.each([
    {
      rule: "quote no part by hand",
      pattern: /\bcurl[ $]|\s-(?:[HdX]|-data\S*) /,
      part: /'\$\{|"\$\{(?!quoteForShell\()/,
    },
    {
      rule: "quote each part of a command of rowhouse",
      pattern: /rowhouse (?:admin|db|data) [a-z-]+/,
      part: /rowhouse (?:admin|db|data) [a-z-]+[^`.:;,"<]*\$\{(?!quoteForShell\(|ALL_ENVIRONMENTS\})/,
    },
  ])("$rule", ({ pattern, part }) => {
    const commands = texts.filter(({ line }) => pattern.test(line));
    expect(commands.length).toBeGreaterThan(10);
    expect(commands.filter(({ line }) => part.test(line))).toEqual([]);
  });
});

/** Tests of the database run again on other servers (`test/ci/parts.ts`), from `test/` only. */
test("tests beside their subject need no database", async () => {
  const tests = listFiles("**/*_test.{ts,tsx}").map((path) => join("src", path));
  expect(tests.length).toBeGreaterThan(20);
  const graph = toGraph(await readTexts());
  expect(tests.filter((path) => needsDatabase(graph, path))).toEqual([]);
  expect(needsDatabase(graph, "test/data/list_test.ts")).toBe(true);
});

test("every file starts with its purpose", () => {
  const undescribed = sources.filter(
    ({ text }) => !/^(#!.*\n)?\/\*\*[\s\S]*?@module|^-- [A-Z]/.test(text),
  );
  expect(undescribed.map(({ path }) => path)).toEqual([]);
});

/** Whether a file reaches no database, no HTTP and no package except valibot. */
function isLight(start: string): boolean {
  const reached = new Set([start]);
  for (const path of reached)
    for (const { from, target, isType } of edges) if (from === path && !isType) reached.add(target);
  return [...reached].every(
    (path) =>
      !/^(db|http|pages|service|console)\//.test(path) &&
      (sources.find((source) => source.path === path)?.imports ?? []).every(
        ({ name, isType }) => isType || /^(\.|node:|valibot$)/.test(name),
      ),
  );
}

/** The imports of each pair of files and folders, side by side in a folder, that is part of a circle. */
function countCircles(imports: readonly { from: string; target: string }[]): Map<string, number> {
  const beside = imports.flatMap(({ from, target }) => {
    const [a, b] = [from.split("/"), target.split("/")];
    const shared = a.findIndex((name, index) => name !== b[index]);
    if (shared < 1) return [];
    return [{ from: cutPath(a, shared), target: cutPath(b, shared) }];
  });
  const groups = findCycles(beside);
  const circular = beside.filter(({ from, target }) =>
    groups.some((group) => group.includes(from) && group.includes(target)),
  );
  const pairs = Map.groupBy(circular, ({ from, target }) => `${from} ${target}`);
  return new Map([...pairs].map(([pair, found]) => [pair, found.length]));
}

function cutPath(names: readonly string[], shared: number): string {
  return names.slice(0, shared + 1).join("/");
}

/** Returns the groups of files that import each other in a cycle. */
function findCycles(imports: readonly { from: string; target: string }[]): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const reach = (start: string) => {
    const reached = new Set<string>();
    const next = [start];
    for (let file = next.pop(); file !== undefined; file = next.pop()) {
      for (const { target } of targets.get(file) ?? []) {
        if (!reached.has(target)) next.push(target);
        reached.add(target);
      }
    }
    return reached;
  };
  const reached = new Map([...targets.keys()].sort().map((file) => [file, reach(file)]));
  const cyclic = [...reached.keys()].filter((file) => reached.get(file)?.has(file));
  const groups = Map.groupBy(cyclic, (file) =>
    cyclic.filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)).join(),
  );
  return [...groups.values()];
}
