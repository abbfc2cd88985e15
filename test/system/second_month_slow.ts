/**
 * The second month of a project, with npm alone and with Bun alone, from packed files: two people with two clones, their `dev`, and
 * two shared services. Each changes, undoes, diverges and joins, and pulls while the other's `dev` runs.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { eventually } from "../support/eventually.ts";
import { packAll } from "../support/packages.ts";
import { freshName, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

const MONTH_MS = 900_000;
const STEP_MS = 300_000;
/** A command that asks waits forever. */
const COMMAND_MS = 60_000;
/** Everything else is missing on the machine, such as the other package manager. */
const TOOLS =
  "sh bash env git cat sed grep uname ps rm cp mv ls mkdir chmod tr head dirname basename readlink id getconf tar gzip sleep".split(
    " ",
  );

type Shape = {
  name: string;
  programs: Readonly<Record<string, string | null>>;
  start: string;
  install: string;
  run: string;
};
const SHAPES: readonly Shape[] = [
  {
    name: "npm alone",
    programs: { node: Bun.which("node"), npm: Bun.which("npm"), npx: Bun.which("npx") },
    start: `npm init -y && npm install --prefer-offline bun@${manifest.devDependencies.bun} ./vendor/*.tgz`,
    install: "npm ci --prefer-offline",
    run: "npx rowhouse",
  },
  {
    name: "Bun alone",
    programs: { bun: process.execPath, bunx: process.execPath },
    start: "bun init -y && bun add ./vendor/*.tgz",
    install: "bun install --frozen-lockfile",
    run: "bunx rowhouse",
  },
];
const isThere = ({ programs }: Shape) => Object.values(programs).every((path) => path !== null);

let folder: string;
let packed: string;
const services: TestService[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-month-"));
  chmodSync(folder, 0o755);
  packed = (await packAll(folder)).rowhouse;
  services.push(await openTestService(), await openTestService());
}, MONTH_MS);
afterAll(async () => {
  for (const service of services) await service.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const shape of SHAPES.filter((each) => !isThere(each)))
  test.skip(`with ${shape.name}: it is not on this machine`, () => undefined);

/** In a reduced run `clone_slow` and `dev_launchers_slow` use npm. */
const shapes = SHAPES.filter(isThere).slice(isFull() ? 0 : -1);

describe.each(shapes)("with $name", (shape) => {
  let env: Record<string, string>;
  let ada: Person;
  let ben: Person;
  let place: Record<"staging" | "production", { service: TestService; app: TestApp }>;
  let root: string;
  let table: string;
  let broken: string | undefined;

  /** Each step builds on those before it. */
  const step = (name: string, run: () => Promise<void>) =>
    test(
      name,
      async () => {
        if (broken !== undefined) throw new Error(`An earlier step has failed: ${broken}`);
        broken = name;
        await run();
        broken = undefined;
      },
      MONTH_MS,
    );

  beforeAll(async () => {
    root = mkdtempSync(join(folder, "shape-"));
    chmodSync(root, 0o755);
    table = freshName();
    const [staging, production] = services;
    if (staging === undefined || production === undefined) throw new Error("No services");
    place = {
      staging: { service: staging, app: await staging.makeApp() },
      production: { service: production, app: await production.makeApp() },
    };
    env = {
      PATH: linkPrograms(join(root, "bin"), shape),
      HOME: process.env["HOME"] ?? root,
      ROWHOUSE_API_KEY_STAGING: place.staging.app.key,
      ROWHOUSE_API_KEY_PRODUCTION: place.production.app.key,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
    };
    ada = openPerson("Ada", { folder: join(root, "wiki"), env, shape, table });
    ben = openPerson("Ben", { folder: join(root, "mate"), env, shape, table });
  }, STEP_MS);
  afterAll(async () => {
    await ada?.stopDev();
    await ben?.stopDev();
  }, STEP_MS);

  step("a project, a clone in another folder, and both their dev are one app", async () => {
    await ada.sh("git init -q --bare -b main ../origin", { in: mkdir(join(root, "wiki")) });
    mkdir(join(ada.folder, "vendor"));
    cpSync(packed, join(ada.folder, "vendor", basename(packed)));
    await ada.sh(shape.start);
    await ada.rowhouse("init");
    const file = join(ada.folder, "rowhouse.json");
    const environments = {
      staging: place.staging.service.url,
      production: { url: place.production.service.url, confirm: true },
    };
    writeFileSync(
      file,
      JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), environments }),
    );
    ada.edit("titel: t.string().required(), hours: t.string(), junk: t.string()");
    await ada.startDev();
    await ada.create({ titel: "Milk", hours: "1.5", junk: "x" });
    await ada.rowhouse("db push --to staging");
    await ada.rowhouse("db push --to production --yes");
    await ada.sh(
      "git init -q -b main && git remote add origin ../origin && git add -A && git commit -qm start && git push -qu origin main",
    );
    await ben.sh("git clone -q origin mate", { in: root });
    await ben.sh(shape.install);
    await ben.startDev();
    expect(ben.dev()["app"]).toBe(ada.dev()["app"]);
    await ben.create({ titel: "Tea", hours: "2", junk: "y" });
  });

  step("a rename that dev suggests reaches staging, and the teammate's dev by a pull", async () => {
    const since = ben.mark();
    ben.edit("title: t.string().required(), hours: t.string(), junk: t.string()");
    const [, command = ""] = await ben.printed(/run (?:.*)?rowhouse (db rename .*?);/, since);
    expect(command).toBe(`db rename ${table}.titel title --to dev --yes`);
    await ben.rowhouse(command);
    expect(await ben.rows()).toMatchObject([{ title: "Tea" }]);
    const rejected = await ben.rowhouse("db push --to staging", { exits: 1 });
    const [, there = ""] = /first run rowhouse (db rename .*)/.exec(rejected) ?? [];
    expect(there).toBe(`db rename ${table}.titel title --to staging`);
    await ben.rowhouse(`${there} --yes`);
    await ben.commit("rename");
    await ada.pull(/rename column .*titel to title/);
    expect(await ada.rows()).toMatchObject([{ title: "Milk", hours: "1.5" }]);
    expect(await ben.rows()).toMatchObject([{ title: "Tea" }]);
  });

  step("a retype and a drop reach the teammate's dev by a pull", async () => {
    const since = ada.mark();
    ada.edit("title: t.string().required(), hours: t.number(), junk: t.string()");
    await ada.printed(/hours from string to number/, since);
    await ada.rowhouse(`db retype ${table}.hours number --to staging --yes`);
    await ada.commit("retype");
    await ben.pull(/hours from string to number/);
    expect(await ben.rows()).toMatchObject([{ title: "Tea", hours: 2 }]);
    ben.edit("title: t.string().required(), hours: t.number()");
    await ben.rowhouse(`db drop ${table}.junk --to dev --yes`);
    expect(await ben.rowhouse("db push --to staging")).toContain(
      `rowhouse db drop ${table}.junk --to staging`,
    );
    await ben.rowhouse(`db drop ${table}.junk --to staging --yes`);
    await ben.commit("drop");
    await ada.pull(/drops .*junk \(1 value\)\. To drop it, run rowhouse db push --to dev --yes/);
    expect(await ada.rows()).toMatchObject([{ title: "Milk", junk: "x" }]);
    await ada.rowhouse("db push --to dev --yes");
    expect(await ada.rows()).toEqual([{ title: "Milk", hours: 1.5 }]);
  });

  step("an undone mistake stays in dev, or reaches the teammate as two migrations", async () => {
    const start = "title: t.string().required(), hours: t.number()";
    const since = ada.mark();
    ada.edit(`${start}, idea: t.string()`);
    await ada.printed(/add column .*idea/, since);
    ada.edit(`${start}, oops: t.string()`);
    await ada.printed(/run rowhouse db push/, since);
    await ada.rowhouse("db push --to dev");
    await ada.rowhouse("db push --to staging");
    const dropped = ada.mark();
    ada.edit(start);
    await ada.rowhouse(`db drop ${table}.oops --to staging --yes`);
    await ada.printed(/drop column .*oops/, dropped);
    await ada.commit("mistake");
    // The schema is what it was before both migrations, and dev follows only the schema.
    await ben.pull(/Nothing to do/);
    expect(await ada.rows()).toEqual([{ title: "Milk", hours: 1.5 }]);
    expect(await ben.rows()).toEqual([{ title: "Tea", hours: 2 }]);
    expect(readdirSync(join(ada.folder, "schema/migrations")).join()).not.toContain("idea");
  });

  step("two branches that diverged are joined, and both dev follow", async () => {
    const start = "title: t.string().required(), hours: t.number()";
    await ada.sh("git checkout -qb ada");
    const added = { ada: ada.mark(), ben: ben.mark() };
    ada.edit(`${start}, a: t.string()`);
    await ada.rowhouse("db push --to staging");
    await ada.printed(/add column .*\.a\b/, added.ada);
    await ada.sh("git add -A && git commit -qm a");
    await ben.sh("git checkout -qb ben");
    ben.edit(`${start}, b: t.string()`);
    await ben.rowhouse("db push --to production --yes");
    await ben.printed(/add column .*\.b\b/, added.ben);
    await ben.sh("git add -A && git commit -qm b && git push -q origin ben");

    // The merge has a conflict in the schema, and two files with one number.
    const since = ada.mark();
    await ada.sh("git fetch -q && git merge -q origin/ben || true");
    await ada.printed(/Cannot read schema\/mod\.ts/, since);
    ada.edit(`${start}, a: t.string(), b: t.string()`);
    await ada.printed(/Two branches were merged[\s\S]*dev serves the last good schema/, since);
    expect(await ada.rows()).toMatchObject([{ title: "Milk", a: null }]);
    const own = readdirSync(join(ada.folder, "schema/migrations")).filter((name) =>
      name.endsWith("_a.sql"),
    );
    expect(own).toHaveLength(1);
    await ada.sh(`rm schema/migrations/${own[0]}`);
    await ada.printed(/add column .*\.b\b/, since);
    expect(await ada.rowhouse("db resolve --to staging")).toContain("Joined");
    await ada.rowhouse("db push --to staging");
    await ada.sh("git add -A && git commit -qm join && git checkout -q main && git merge -q ada");
    await ada.sh("git push -q origin main");
    await ben.sh("git checkout -q main");
    await ben.pull(/add column .*\.a\b/);
    expect(await ben.rows()).toEqual([{ title: "Tea", hours: 2, a: null, b: null }]);
    expect(await ada.rows()).toMatchObject([{ title: "Milk", hours: 1.5, a: null, b: null }]);
  });

  step("all environments end with one history, and nothing of dev is in the folder", async () => {
    await ben.rowhouse("db push --to production --yes");
    await ben.rowhouse("db push --to staging");
    await ben.commit("production");
    await ada.pull(/Nothing to do/);
    const status = await ben.rowhouse("db status --to all");
    expect(status.match(/up to date/g)?.length).toBeGreaterThanOrEqual(2);
    for (const person of [ada, ben]) {
      expect(await person.sh("git status --porcelain")).toBe("");
      // The client's types are the schema's.
      expect(await person.sh("git ls-files .rowhouse .env")).toBe(
        ".rowhouse/.gitignore\n.rowhouse/types.d.ts\n",
      );
    }
    const names = readdirSync(join(ben.folder, "schema/migrations")).filter((name) =>
      name.endsWith(".sql"),
    );
    const { app, service } = place.production;
    const recorded = await readMigrations(service, app);
    expect(recorded.map(({ name }) => name)).toEqual(names.sort().map((name) => name.slice(5, -4)));
    for (const person of [ada, ben])
      expect(person.asked().filter((line) => /production/.test(line))).toEqual([]);
    await ada.stopDev();
    await ben.stopDev();
    // bunx ends before the dev that it started.
    const left = () =>
      Bun.spawnSync(["ps", "-eo", "args"])
        .stdout.toString()
        .split("\n")
        .filter((line) => line.includes(root));
    await eventually(() => left().length === 0, { describe: () => left().join("\n") });
  });
});

/** A folder with only these programs. */
function linkPrograms(path: string, { programs }: Shape): string {
  mkdir(path);
  const tools = TOOLS.map((name): [string, string | null] => [name, Bun.which(name)]);
  for (const [name, program] of [...tools, ...Object.entries(programs)])
    if (program !== null) symlinkSync(program, join(path, name));
  return path;
}

function mkdir(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

type Options = { folder: string; env: Record<string, string>; shape: Shape; table: string };
type Person = ReturnType<typeof openPerson>;

function openPerson(name: string, { folder: home, env, shape, table }: Options) {
  const git = { NAME: name, EMAIL: `${name}@example.org` };
  const own = {
    ...env,
    ...Object.fromEntries(
      ["AUTHOR", "COMMITTER"].flatMap((who) =>
        Object.entries(git).map(([part, value]) => [`GIT_${who}_${part}`, value]),
      ),
    ),
  };
  let running: Running | undefined;
  const asked: string[] = [];

  async function sh(command: string, { in: cwd = home, exits = 0 } = {}): Promise<string> {
    const child = Bun.spawn(["bash", "-ec", `exec 2>&1; ${command}`], {
      cwd,
      env: own,
      stdin: "ignore",
    });
    const text = await new Response(child.stdout).text();
    const code = await child.exited;
    if (code !== exits) throw new Error(`${name}: ${command} exits with ${code}\n${text}`);
    return text;
  }

  const readDev = () =>
    JSON.parse(readFileSync(join(home, ".rowhouse/dev.json"), "utf8")) as Record<string, string>;
  const call = async (init: RequestInit = {}) => {
    const { baseUrl, apiKey } = readDev();
    return await fetch(`${baseUrl}/v1/data/db/${table}`, {
      ...init,
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    });
  };
  const printed = async (wanted: RegExp, since: number) => {
    const read = () => running?.output().slice(since) ?? "";
    await eventually(() => wanted.test(read()), { describe: read, patienceMs: 90_000 });
    return read().match(wanted) ?? [];
  };
  const mark = () => running?.output().length ?? 0;

  return {
    folder: home,
    sh,
    mark,
    printed,
    dev: readDev,
    asked: () => asked,
    /** On a terminal, where a command can ask: nobody answers. */
    rowhouse: async (command: string, { exits = 0 } = {}) => {
      const { ended, output } = onTerminal(`${shape.run} ${command}`, { cwd: home, env: own });
      const code = await Promise.race([ended, Bun.sleep(COMMAND_MS)]);
      if (!command.includes("--to production") && !command.includes("--to all"))
        asked.push(...output().split("\n"));
      if (code !== exits) throw new Error(`${name}: ${command} exits with ${code}\n${output()}`);
      return output();
    },
    edit: (columns: string) =>
      writeFileSync(
        join(home, "schema/mod.ts"),
        `import { defineSchema, t } from "rowhouse/schema";\n\nexport default defineSchema({ ${table}: { ${columns} } });\n`,
      ),
    create: async (row: object) => {
      const response = await call({ method: "POST", body: JSON.stringify(row) });
      expect(response.status).toBe(201);
    },
    rows: async () => {
      const { rows } = (await (await call()).json()) as { rows: Record<string, unknown>[] };
      return rows.map(({ id: _, app_id: __, ...row }) => row);
    },
    commit: async (message: string) => {
      await sh(`git add -A && git commit -qm ${message} && git push -q origin HEAD`);
    },
    /** A pull while `dev` runs, which then prints this. */
    pull: async (wanted: RegExp) => {
      const since = mark();
      await sh("git pull -q origin main");
      await printed(wanted, since);
    },
    startDev: async () => {
      running = onTerminal(`exec ${shape.run} dev --port 0`, { cwd: home, env: own });
      await printed(/Ctrl-C stops everything/, 0);
    },
    /** As a person does. */
    stopDev: async () => {
      running?.type("\x03");
      await running?.ended;
      running = undefined;
    },
  };
}

type Where = { cwd: string; env: Record<string, string> };

type Running = ReturnType<typeof onTerminal>;

function onTerminal(command: string, { cwd, env }: Where) {
  let text = "";
  const closed = Promise.withResolvers<void>();
  const decoder = new TextDecoder();
  const child = Bun.spawn(["bash", "-ec", command], {
    cwd,
    env: { TERM: "dumb", NO_COLOR: "1", ...env },
    terminal: {
      cols: 400,
      rows: 40,
      data: (_, bytes) => {
        text += decoder.decode(bytes, { stream: true });
      },
      exit: () => closed.resolve(),
    },
  });
  return {
    output: () => text.replaceAll("\r", ""),
    type: (typed: string) => void child.terminal?.write(typed),
    ended: Promise.all([child.exited, closed.promise]).then(([code]) => code),
  };
}
