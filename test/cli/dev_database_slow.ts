/** The database that `rowhouse dev` uses: its own, or an empty database of a flag, never the database of a service. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import {
  makeDatabase,
  makeEmptyDatabase,
  type TestDatabase,
  withDatabase,
} from "../support/cluster.ts";
import {
  expectFailure,
  makeProject,
  type Running,
  runCommand,
  type Settings,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { callDev, DEV_READY, readDev } from "../support/dev.ts";

const TODOS = { "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }") };
setDefaultTimeout(360_000);

let service: TestDatabase;
beforeAll(async () => {
  service = await makeDatabase();
  await write(
    service.adminUrl,
    `insert into rowhouse.apps (id, slug) values (gen_random_uuid(), 'todo');
    insert into rowhouse.users (id, email) values (gen_random_uuid(), 'ada@example.org')`,
  );
});
afterAll(() => service.drop());

const write = (url: string, text: string) =>
  withDatabase(url, (database) => database.message(`${text}; select 1`));

/** The lines of a query with one column. */
const read = (url: string, text: string) =>
  withDatabase(url, async (database) => {
    const rows = await readRows<{ line: string }>(database, text);
    return rows.map(({ line }) => line);
  });

/** Every row of every table, and every object with its owner and rights. */
const readWhole = (url: string) =>
  read(
    url,
    `select concat(relname, relowner, relacl, case when relkind in ('r', 'p') then
        query_to_xml(format('select * from %s as t order by t::text', class.oid::regclass), true, false, '')::text end) as line
      from pg_class as class join pg_namespace as schema on schema.oid = relnamespace
      where nspname not like 'pg\\_%' and nspname <> 'information_schema'
    union all select concat(proname, proowner, proacl, prosrc) from pg_proc where oid >= 16384
    union all select concat(nspname, nspowner, nspacl) from pg_namespace where nspname not like 'pg\\_%'
    order by line`,
  );

/** The settings in an operator's shell: one process with all roles, with providers and email. */
const production = (): Settings => ({
  DATABASE_URL: service.servingUrl,
  ADMIN_DATABASE_URL: service.adminUrl,
  CONSOLE_DATABASE_URL: service.consoleUrl,
  IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  PUBLIC_URL: "https://api.example.org",
  IDENTITY_URL: "https://id.example.org",
  COOKIE_DOMAIN: "example.org",
  ROLE: "all",
  MAIL_URL: "smtp://127.0.0.1:1",
  MAIL_FROM: "no-reply@example.org",
  OIDC_CORP_ISSUER: "http://127.0.0.1:1",
  OIDC_CORP_CLIENT_ID: "rowhouse",
  OIDC_CORP_CLIENT_SECRET: "provider-secret",
});

async function runDev(
  project: { folder: string },
  { env = {}, flags = [] }: { env?: Settings; flags?: readonly string[] },
  meanwhile: (dev: Running) => Promise<void> = async () => {},
): Promise<void> {
  const dev = startCommand(["dev", "--port", "0", ...flags], { ...project, env });
  await dev.until(DEV_READY);
  await meanwhile(dev);
  expect(await dev.kill("SIGTERM")).toBe(0);
}

const createRow = async (folder: string) =>
  (await callDev(folder, "/v1/data/db/todos", { title: "Milk" })).status;

test.each([
  { where: "the environment", env: production, dotenv: () => "" },
  {
    where: ".env",
    env: () => ({}),
    dotenv: () =>
      Object.entries(production())
        .map(([name, value]) => `${name}="${value}"\n`)
        .join(""),
  },
])(
  "with the settings of a service in $where, dev uses its own database and does not change the service",
  async ({ env, dotenv }) => {
    const before = await readWhole(service.adminUrl);
    using project = makeProject({ ...TODOS, ".env": dotenv() });
    await runDev(project, { env: env() }, async (dev) => {
      const notes = dev.output().match(/^Notice: rowhouse dev ignores .*$/gm) ?? [];
      expect(notes).toHaveLength(1);
      for (const name of Object.keys(production())) expect(notes[0]).toContain(name);
      expect(dev.output()).not.toContain("provider-secret");
      const file = readDev(project.folder);
      expect(file).toMatchObject({
        gatewayUrl: expect.stringMatching(/^http:\/\/api\.rowhouse\.localhost:/),
        admin: { email: "admin@rowhouse.localhost" },
      });
      expect(file.databaseUrl).not.toContain(service.name);
      expect(file.identitySecrets).not.toContain(TEST_IDENTITY_SECRET);
      expect(await createRow(project.folder)).toBe(201);
      const signIn = await fetch(`${file.baseUrl}/login`, {
        headers: { host: new URL(file.identityUrl).host },
      });
      expect(await signIn.text()).not.toContain("/oidc/corp");
    });
    expect(await readWhole(service.adminUrl)).toEqual(before);
  },
);

test("--database marks an empty database, and the next dev uses it again", async () => {
  await using empty = await makeEmptyDatabase();
  using project = makeProject(TODOS);
  const flags = ["--database", empty.url];
  await runDev(project, { flags }, async () => {
    expect(await createRow(project.folder)).toBe(201);
  });
  // The mark does not depend on other objects that dev creates.
  await write(empty.url, "truncate rowhouse.users cascade");
  using other = makeProject(TODOS);
  await runDev(other, { flags: [...flags, "--app", "other"] }, async (dev) => {
    expect(dev.output()).toContain("/console\n");
    expect(await createRow(other.folder)).toBe(201);
  });
  expect(await read(empty.url, "select title as line from data.todos")).toEqual(["Milk", "Milk"]);
  const roles = await read(
    empty.url,
    "select current_setting('is_superuser') || count(*) as line from pg_roles where rolname ~ '^rowhouse_dev_[0-9a-f]{8}$' and not rolsuper",
  );
  expect(roles[0]).toMatch(/^on[2-9]/);
});

test("--database reads its password from PGPASSWORD, and warns about a password in the URL", async () => {
  await using empty = await makeEmptyDatabase();
  const url = new URL(empty.url);
  const env = { PGPASSWORD: decodeURIComponent(url.password) };
  url.password = "";
  using project = makeProject(TODOS);
  const runs = [
    { flags: ["--database", url.href], env, notes: 0 },
    { flags: ["--database", empty.url], env: {}, notes: 1 },
  ];
  for (const { notes, ...options } of runs)
    await runDev(project, options, async (dev) => {
      expect(await createRow(project.folder)).toBe(201);
      expect(dev.output().match(/PGPASSWORD/g) ?? []).toHaveLength(notes);
      expect(dev.output()).not.toContain(env["PGPASSWORD"] ?? "");
    });
});

test.each([
  { holds: "a table", text: "create table letters (text text)" },
  { holds: "a schema", text: "create schema letters" },
  { holds: "a function", text: "create function two() returns int language sql as 'select 2'" },
  { holds: "a type", text: "create type mood as enum ('glad')" },
  { holds: "a large object", text: "select lo_create(0)" },
])("--database rejects a database that contains $holds, and changes nothing", async ({ text }) => {
  await using found = await makeEmptyDatabase();
  await write(found.url, text);
  const before = await readWhole(found.url);
  using project = makeProject(TODOS);
  const rejected = await runCommand(["dev", "--port", "0", "--database", found.url], project);
  expect([rejected.code, rejected.out]).toEqual([1, ""]);
  expect(rejected.err).toContain("it is not empty, and rowhouse dev did not set it up");
  expect(rejected.err).not.toContain(new URL(found.url).password);
  expect(await readWhole(found.url)).toEqual(before);
});

test("--database rejects the database of a service, and changes nothing", async () => {
  const before = await readWhole(service.adminUrl);
  using project = makeProject(TODOS);
  const words = ["dev", "--port", "0", "--database", service.adminUrl];
  expectFailure(await runCommand(words, project), "Create an empty database");
  expect(await readWhole(service.adminUrl)).toEqual(before);
});

test.each([
  { words: ["--database", "mysql://x"], says: "Cannot read --database: must be postgres://" },
  {
    words: ["--database", "postgres://a:b@localhost/c", "--reset", "--yes"],
    says: "Flags --database and --reset exclude each other",
  },
  {
    words: ["--database", "postgres://a:b@localhost/c", "--data-dir", "d"],
    says: "Flags --database and --data-dir exclude each other",
  },
])("rowhouse dev $words is a usage error", async ({ words, says }) => {
  using project = makeProject();
  expectFailure(await runCommand(["dev", ...words], project), says, 2);
});

test("dev with other previews leaves the functions and indexes as they are", async () => {
  using project = makeProject({
    "schema/mod.ts": schemaText(
      '{ items: t.model({ name: t.string().unique(), price: t.number() }).index("price") }',
    ),
  });
  const found: string[][] = [];
  for (const flags of [[], ["--preview", "filters"], []])
    await runDev(project, { flags }, async (dev) => {
      expect(dev.output()).not.toMatch(/Renewed|Building|Upgraded the database/);
      found.push(
        await read(
          readDev(project.folder).databaseUrl,
          `select proname || ' ' || xmin as line from pg_proc where pronamespace = 'api'::regnamespace
            union select pg_get_indexdef(indexrelid) from pg_index
            where indrelid = 'data.items'::regclass order by line`,
        ),
      );
    });
  const [first = [], ...others] = found;
  expect(first.length).toBeGreaterThan(10);
  expect(others).toEqual([first, first]);
});
