/** Commands that go to the project's `dev`: by its name, and by the address and key in `.env`, whatever has changed since. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  makeProject,
  type Running,
  runCommand,
  runProcess,
  schemaText,
  startOnTerminal,
} from "../support/command.ts";
import { readDev, startDev } from "../support/dev.ts";

setDefaultTimeout(180_000);
const AWAY = "http://127.0.0.1:1";
const projects: ReturnType<typeof makeProject>[] = [];
let running: Running[] = [];
afterEach(async () => {
  for (const dev of running) await dev.kill("SIGKILL");
  running = [];
  for (const project of projects.splice(0)) project.remove();
});

const toSchema = (columns: string) => schemaText(`{ notes: { ${columns} } }`);

/** As the tutorial leaves it: an environment in the file, and the address and key of dev in `.env`. */
function makeNotes() {
  const file = { app: "wiki", environments: { production: { url: AWAY, confirm: true } } };
  const project = makeProject({
    "schema/mod.ts": toSchema("title: t.string()"),
    "rowhouse.json": JSON.stringify(file),
  });
  projects.push(project);
  return project;
}

async function start(folder: string) {
  const dev = await startDev(folder);
  running.push(dev);
  const { baseUrl: url, apiKey: key } = readDev(folder);
  return { dev, url, key };
}

const toEnv = (url: string, key: string) => ({ ROWHOUSE_URL: url, ROWHOUSE_API_KEY: key });

test("every address of dev is dev, and its migrations stay private, also after a restart", async () => {
  const { folder, write } = makeNotes();
  const expectPrivate = () => expect(existsSync(join(folder, "schema/migrations"))).toBe(false);
  const first = await start(folder);
  const { port } = new URL(first.url);
  for (const host of ["localhost", "127.0.0.1", "api.rowhouse.localhost"]) {
    const env = toEnv(`http://${host}:${port}`, first.key);
    const pushed = await runProcess(["db", "push"], { folder, env });
    expect(pushed).toMatchObject({ code: 0, err: `Destination: dev (${first.url}, app wiki)\n` });
    expectPrivate();
  }

  // Another key of this dev, as of a second app.
  const issued = await runCommand(["admin", "issue-key", "wiki", "--scope", "schema:push"], {
    folder,
  });
  const second = toEnv(`http://127.0.0.1:${port}`, issued.out.trim());
  expect(await runCommand(["db", "push"], { folder, env: second })).toMatchObject({ code: 0 });
  expectPrivate();

  // A clone with a copy of .env has no dev of its own.
  const clone = makeNotes();
  const env = toEnv(first.url, first.key);
  const cloned = await runProcess(["db", "push"], { folder: clone.folder, env });
  expect(cloned).toMatchObject({ code: 0, err: `Destination: a rowhouse dev (${first.url})\n` });
  expect(existsSync(join(clone.folder, "schema/migrations"))).toBe(false);

  expect(await first.dev.kill("SIGINT")).toBe(0);
  const stopped = await runCommand(["db", "push"], { folder, env });
  expect(stopped.code).toBe(69);
  expect(stopped.err).toContain("start rowhouse dev");
  expectPrivate();

  const again = await start(folder);
  expect(again.url).not.toBe(first.url);
  write("schema/mod.ts", toSchema("title: t.string(), note: t.string()"));
  const moved = await runProcess(["db", "push"], { folder, env });
  // dev pushes the same edit, so the command can wait for it.
  expect(moved.err).toStartWith(`Destination: dev (${again.url}, app wiki)\n`);
  expect(moved.code).toBe(0);
  expectPrivate();
});

test("the command that dev prints works, and --to dev in commands for schema and rows", async () => {
  const { folder, write } = makeNotes();
  const { dev, url, key } = await start(folder);
  write("rows.csv", "title\nkept\n");
  for (const words of [
    ["data", "import", "notes", "rows.csv"],
    ["db", "plan"],
    ["db", "check"],
    ["db", "pull"],
    ["db", "status"],
  ])
    expect([words, await runProcess([...words, "--to", "dev"], { folder })]).toMatchObject([
      words,
      { code: 0, err: `Destination: dev (${url}, app wiki)\n` },
    ]);

  write("schema/mod.ts", toSchema("heading: t.string()"));
  const [, printed = ""] = await dev.until(/To rename the column, run rowhouse (.*?);/);
  const env = toEnv(url, key);
  const renamed = await runCommand(printed.split(" "), { folder, env });
  const command = "db rename notes.title heading --to dev --yes";
  expect([printed, renamed]).toMatchObject([command, { code: 0 }]);
  const rows = await runCommand(["data", "export", "notes", "--to", "dev"], { folder });
  expect(rows.out).toMatch(/^id,heading\r\n\S+,kept\r\n$/);

  // As the tutorial leaves it, dev is meant without its name.
  write("schema/mod.ts", toSchema("heading: t.string(), done: t.boolean()"));
  await dev.until(/add column notes\.done/);
  write("schema/mod.ts", toSchema("title: t.string(), done: t.boolean()"));
  await dev.until(/rename notes\.heading title --to dev --yes;/);
  const short = ["db", "rename", "notes.heading", "title", "--yes"];
  expect(await runCommand(short, { folder, env })).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, "schema/migrations"))).toBe(false);

  // On a terminal without .env, dev is the default.
  const status = startOnTerminal(["db", "status"], { folder, env: { NO_COLOR: "1" } });
  await status.until(/Which destination: dev, production \[dev\]\?/);
  status.type("\n");
  expect(await status.ended).toBe(0);
  expect(status.output()).toContain(`Destination: dev (${url}, app wiki)`);
});
