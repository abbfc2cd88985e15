/**
 * A model of diverged histories: a project and two people with checkouts of their own push to three environments, in random
 * order, and commands are killed. Compared with it: the records of every environment and the files of every folder.
 *
 * @module
 */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { compareHistory } from "../../src/tables/history/history_difference.ts";
import { readJournal } from "../../src/tables/history/journal_files.ts";
import {
  type RecordedMigration,
  toProjectHistory,
} from "../../src/tables/history/project_history.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { makeProject, runHere, schemaText, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { readDeclared } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import type { Runs } from "../support/tier.ts";

const PLACES = ["east", "north", "west"] as const;
const FOLDERS = ["project", "ada", "grace"] as const;
const TABLES = ["one", "two"] as const;
const COLUMNS = ["aa", "bb", "cc", "dd"] as const;
const KINDS = ["string", "number"] as const;

type Place = (typeof PLACES)[number];
type Folder = (typeof FOLDERS)[number];
type Action =
  | { do: "grow"; folder: Folder; table: number; column: number; kind: number }
  | { do: "push" | "resolve"; folder: Folder; place: Place; killAfterMs: number | undefined }
  /** Starts over from the project's files, as a new checkout does. */
  | { do: "checkout"; folder: Exclude<Folder, "project"> }
  /** The project declares what the other folder declares, too; its files stay. */
  | { do: "merge"; folder: Exclude<Folder, "project"> };

const folder = fc.constantFrom(...FOLDERS);
const place = fc.constantFrom(...PLACES);
const other = fc.constantFrom("ada" as const, "grace" as const);
const killAfterMs = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 600 }) },
);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("grow" as const),
      folder,
      table: fc.nat({ max: TABLES.length - 1 }),
      column: fc.nat({ max: COLUMNS.length - 1 }),
      // Rarely two kinds for a name, which makes a join impossible.
      kind: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("push" as const), folder, place, killAfterMs }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("resolve" as const), folder, place, killAfterMs }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("checkout" as const), folder: other }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("merge" as const), folder: other }) },
);

/**
 * Each pushes to an environment of their own first: from the start nothing is the same anywhere. So the push of the project to
 * another environment is one of a diverged history in every run.
 */
const START: readonly Action[] = [
  ...FOLDERS.flatMap((name, index): Action[] => {
    const at = PLACES[index] ?? "east";
    return [
      { do: "grow", folder: name, table: 0, column: index, kind: 0 },
      { do: "push", folder: name, place: at, killAfterMs: undefined },
    ];
  }),
  { do: "push", folder: "project", place: "north", killAfterMs: undefined },
];

/** Column kinds by `table.column`; a table without columns is `table.`. */
type Columns = Map<string, string>;
export type Counts = { joined: number; unequal: number; diverged: number; killed: number };

/** Runs this number of sequences, and counts the events in them. */
export async function checkHistories(runs: Runs): Promise<Counts> {
  const counts: Counts = { joined: 0, unequal: 0, diverged: 0, killed: 0 };
  const services = await Promise.all(PLACES.map(() => openTestService()));
  let run = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 16 }), async (actions) => {
        const world = await openWorld(services, `m${run++}_`);
        try {
          for (const next of [...START, ...actions]) await take(world, next, counts);
          await end(world, counts);
        } finally {
          for (const project of world.projects.values()) project.remove();
        }
      }),
      { ...runs, endOnFailure: true },
    );
  } finally {
    for (const service of services) await service.close();
  }
  return counts;
}

type Environment = { service: TestService; app: TestApp };
type World = {
  prefix: string;
  environments: Map<Place, Environment>;
  projects: Map<Folder, ReturnType<typeof makeProject>>;
  /** The declarations of each folder's schema. */
  schemas: Map<Folder, Columns>;
};

async function openWorld(services: readonly TestService[], prefix: string): Promise<World> {
  const environments = new Map<Place, Environment>();
  for (const [index, name] of PLACES.entries()) {
    const service = services[index];
    if (service === undefined) throw new Error("A place without a service");
    environments.set(name, { service, app: await service.makeApp() });
  }
  const urls = Object.fromEntries(
    [...environments].map(([name, { service }]) => [name, service.url]),
  );
  const files = { "rowhouse.json": JSON.stringify({ environments: urls }) };
  const projects = new Map(FOLDERS.map((name) => [name, makeProject(files)]));
  const schemas = new Map(FOLDERS.map((name) => [name, new Map([[`${prefix}one.`, ""]])]));
  const world = { prefix, environments, projects, schemas };
  for (const name of FOLDERS) writeSchema(world, name);
  return world;
}

function get<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = map.get(key);
  if (value === undefined) throw new Error(`Nothing for ${key}`);
  return value;
}

function writeSchema({ projects, schemas }: World, name: Folder): void {
  const tables = new Map<string, string[]>();
  for (const [path, kind] of get(schemas, name)) {
    const [table = "", column = ""] = path.split(".");
    const columns = tables.get(table) ?? [];
    tables.set(table, column === "" ? columns : [...columns, `${column}: t.${kind}()`]);
  }
  const text = [...tables].map(([table, columns]) => `${table}: { ${columns.join(", ")} }`);
  get(projects, name).write("schema/mod.ts", schemaText(`{ ${text.join(", ")} }`));
}

async function take(world: World, next: Action, counts: Counts): Promise<void> {
  const schema = get(world.schemas, next.folder);
  if (next.do === "grow") {
    const table = `${world.prefix}${TABLES[next.table]}`;
    const column = `${table}.${COLUMNS[next.column]}`;
    schema.set(`${table}.`, "");
    // A declared column keeps its kind, because another kind is always rejected.
    const ever = await readEver(world, next.folder);
    const kind = ever.get(column) ?? schema.get(column) ?? KINDS[next.kind] ?? "string";
    schema.set(column, kind);
    return writeSchema(world, next.folder);
  }
  if (next.do === "merge") {
    const project = get(world.schemas, "project");
    for (const [path, kind] of schema) if (!project.has(path)) project.set(path, kind);
    return writeSchema(world, "project");
  }
  if (next.do === "checkout") {
    const removed = get(world.projects, next.folder);
    removed.remove();
    const { folder: from } = get(world.projects, "project");
    const files = { "rowhouse.json": readFileSync(join(from, "rowhouse.json"), "utf8") };
    const made = makeProject(files);
    for (const [file, text] of readFiles(from)) made.write(`schema/migrations/${file}`, text);
    world.projects.set(next.folder, made);
    world.schemas.set(next.folder, new Map(get(world.schemas, "project")));
    return writeSchema(world, next.folder);
  }
  await command(world, next, counts);
}

type CommandAction = Extract<Action, { place: Place }>;

/** Runs a command, and compares the result with the state before it. */
async function command(world: World, next: CommandAction, counts: Counts): Promise<void> {
  const { folder: name, place: at, killAfterMs: killMs } = next;
  const environment = get(world.environments, at);
  const { folder: path } = get(world.projects, name);
  const before = await readRecord(environment);
  const had = await readColumns(environment);
  const files = readFiles(path);
  const options = {
    folder: path,
    env: { [`ROWHOUSE_API_KEY_${at.toUpperCase()}`]: environment.app.key },
  };
  const difference = await compare(environment, path);
  const isDiverged = difference.ahead > 0 && difference.behind > 0;
  const words = ["db", next.do, "--to", at, "--json"];
  if (killMs !== undefined) {
    const running = startCommand(words, options);
    await Promise.race([running.ended, Bun.sleep(killMs)]);
    await running.kill("SIGKILL");
    counts.killed++;
    // The service finishes a request whose sender was killed.
    await Bun.sleep(20);
    await eventually(() => isIdle(environment));
  }
  const outcome = killMs === undefined ? await runHere(words, options) : undefined;

  // In every case, earlier records and files are unchanged.
  const after = await readRecord(environment);
  expect(after.slice(0, before.length)).toEqual(before);
  for (const [file, text] of files) expect(readFiles(path).get(file)).toBe(text);
  if (outcome === undefined) return;

  const error = (JSON.parse(outcome.out) as { error?: string }).error;
  if (next.do === "push") {
    if (isDiverged) {
      expect(error).toBe("diverged_history");
      counts.diverged++;
    }
    // A column in one environment can conflict with its kind in another environment.
    if (outcome.code !== 0) return;
    expect(await compare(environment, path)).toEqual({ ahead: 0, behind: 0 });
    const declared = await readColumns(environment);
    for (const [column, kind] of get(world.schemas, name)) expect(declared.get(column)).toBe(kind);
    return;
  }
  if (!isDiverged) {
    expect([outcome.code, after.length]).toEqual([0, before.length]);
    return;
  }
  const wanted = await readEver(world, name);
  for (const [column, kind] of get(world.schemas, name)) wanted.set(column, kind);
  const isEqual = [...had].every(([column, kind]) => wanted.get(column) === kind);
  if (isEqual) {
    expect(outcome).toMatchObject({ code: 0 });
    expect(after.length).toBe(before.length + 1);
    expect((await compare(environment, path)).behind).toBe(0);
    expect(sorted(await readColumns(environment))).toEqual(sorted(wanted));
    counts.joined++;
    return;
  }
  expect(outcome).toMatchObject({ code: 1 });
  expect(error).toBe("incompatible_schema");
  expect(after).toEqual(before);
  counts.unequal++;
}

/** Finally the project declares everything possible, joins diverged histories, and all environments are equal. */
async function end(world: World, counts: Counts): Promise<void> {
  const project = get(world.schemas, "project");
  const ever = await readEver(world, "project");
  for (const [path, kind] of ever) project.set(path, kind);
  let isPossible = true;
  for (const environment of world.environments.values())
    for (const [path, kind] of await readColumns(environment)) {
      if ((project.get(path) ?? kind) !== kind) isPossible = false;
      project.set(path, project.get(path) ?? kind);
    }
  for (const environment of world.environments.values())
    expect(await readDrift(environment.service.service.admin)).toEqual([]);
  if (!isPossible) return;
  writeSchema(world, "project");
  // A push can be the first one of a project without files: then other places differ from it only now.
  for (const verb of ["resolve", "push", "resolve", "push"] as const)
    for (const at of PLACES)
      await command(
        world,
        { do: verb, folder: "project", place: at, killAfterMs: undefined },
        counts,
      );
  const { folder: path } = get(world.projects, "project");
  for (const environment of world.environments.values()) {
    expect(sorted(await readColumns(environment))).toEqual(sorted(project));
    expect(await compare(environment, path)).toEqual({ ahead: 0, behind: 0 });
  }
}

function readFiles(path: string): Map<string, string> {
  const names = [...new Bun.Glob("schema/migrations/*.sql").scanSync({ cwd: path })];
  return new Map(
    names
      .sort()
      .map((file) => [
        file.slice("schema/migrations/".length),
        readFileSync(join(path, file), "utf8"),
      ]),
  );
}

async function compare(environment: Environment, path: string) {
  const recorded = toProjectHistory(await readRecord(environment));
  return compareHistory(await readJournal(join(path, "schema/migrations")), recorded);
}

type Row = RecordedMigration & { text: string; sql: string };

async function isIdle({ service }: Environment): Promise<boolean> {
  const metrics = await Promise.all(
    service.processes.map(async (process) => {
      const response = await process.adminFetch(new Request("http://localhost/metrics"));
      return await response.text();
    }),
  );
  return metrics.every((text) => /^rowhouse_requests_in_flight 0$/m.test(text));
}

async function readRecord({ service, app }: Environment): Promise<Row[]> {
  const rows = await service.service.admin.query<{ record: string }>(
    "select to_json(migrations)::text as record from rowhouse.migrations where app_id = $1 order by seq",
    [app.id],
    { retry: "safe", queue: app.id },
  );
  return rows.map(({ record }) => JSON.parse(record) as Row);
}

/** The current and former declarations of an app at an environment. */
async function readColumns({ service, app }: Environment): Promise<Columns> {
  const tables = await readDeclared(service.service.admin, app);
  return new Map(
    tables.flatMap(({ name, columns }) => [
      [`${name}.`, ""] as const,
      ...columns.map((column) => [`${name}.${column.name}`, column.kind] as const),
    ]),
  );
}

/** The declarations of these migrations together. */
function toColumns(migrations: readonly { text: string }[]): Columns {
  const columns: Columns = new Map();
  for (const { text } of migrations) {
    const json = /^-- definition (.*)$/m.exec(text)?.[1] ?? "";
    const { tables } = JSON.parse(json) as {
      tables: { name: string; columns: { name: string; kind: string }[] }[];
    };
    for (const table of tables) {
      columns.set(`${table.name}.`, "");
      for (const { name, kind } of table.columns) columns.set(`${table.name}.${name}`, kind);
    }
  }
  return columns;
}

async function readEver({ projects }: World, name: Folder): Promise<Columns> {
  const files = readFiles(get(projects, name).folder);
  return toColumns([...files.values()].map((text) => ({ text })));
}

function sorted(columns: Columns): [string, string][] {
  return [...columns].sort(([a], [b]) => (a < b ? -1 : 1));
}
