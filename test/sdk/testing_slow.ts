/** `rowhouse/testing`: people with the rights of their role, in `bun test` and `node --test`, only on a running `rowhouse dev`. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { person, removePeople } from "../../src/sdk/testing.ts";
import { readBlocks } from "../docs/blocks.ts";
import { makeProject, ROOT, runCommand, startCommand } from "../support/command.ts";
import { readDev } from "../support/dev.ts";

setDefaultTimeout(120_000);

/** The test file of the docs. */
const [EXAMPLE = ""] = readBlocks(readFileSync(join(ROOT, "docs/clients.md"), "utf8")).flatMap(
  ({ mark, code }) => (mark?.text.endsWith("testing_slow.ts") ? [code] : []),
);
const SCHEMA = `import { defineSchema, t } from "rowhouse/schema";

export default defineSchema({
  todos: t
    .model({ title: t.string().required(), owner: t.uuid().required().owner() })
    .index("owner", "id")
    .allow("member", { read: { owner: "me" }, create: true, delete: { owner: "me" } })
    .allow("lead", { read: true }),
});
`;

type Todos = { todos: { row: { id: string }; insert: { title: string }; update: object } };

const project = makeProject({ "package.json": '{ "name": "wiki", "type": "module" }' });
await installClients();
project.write("schema/mod.ts", SCHEMA);
const dev = startCommand(["dev", "--port", "0", "--app", "wiki", "--preview", "browser"], project);
const [started] = await dev.until(/Sign in:[\s\S]*Ctrl-C stops everything/);
afterAll(async () => {
  await dev.kill("SIGINT");
  project.remove();
});

/** The built clients as `rowhouse`, as in an installed package. */
async function installClients(): Promise<void> {
  const folder = join(project.folder, "node_modules/rowhouse");
  const entries = ["schema/mod", "sdk/data", "sdk/testing"];
  const { success } = await Bun.build({
    entrypoints: entries.map((entry) => join(ROOT, `src/${entry}.ts`)),
    root: join(ROOT, "src"),
    outdir: folder,
    target: "node",
    splitting: true,
  });
  expect(success).toBe(true);
  const exports = {
    "./schema": "./schema/mod.js",
    "./data": "./sdk/data.js",
    "./testing": "./sdk/testing.js",
  };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "rowhouse", type: "module", exports }),
  );
}

async function runTests(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: project.folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: project.folder },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, out, err]).toEqual([0, expect.anything(), expect.anything()]);
  return out + err;
}

describe("people of rowhouse dev", () => {
  test("test the rules of the docs' example in bun test", async () => {
    project.write("rules.test.ts", EXAMPLE.replace(/^\/\/ .*\n/, ""));
    expect(await runTests([process.execPath, "test", "rules.test.ts"])).toContain("1 pass");
  });

  test("test the rules in node --test", async () => {
    const text = `import test, { after } from "node:test";
import assert from "node:assert";
import { person, removePeople } from "rowhouse/testing";

after(removePeople);
test("members see their own rows", async () => {
  const [ada, bob, lead] = await Promise.all(["member", "member", "lead"].map((role) => person({ role })));
  const todo = await ada.db.todos.create({ title: "Milk" });
  assert.equal(todo.owner, ada.id);
  assert.deepEqual((await bob.db.todos.list()).rows, []);
  assert.equal((await lead.db.todos.get(todo.id)).title, "Milk");
  await assert.rejects(lead.db.todos.delete(todo.id), { code: "forbidden" });
});
`;
    writeFileSync(join(project.folder, "rules.test.mjs"), text);
    await runTests(["node", "--test", "rules.test.mjs"]);
  });

  test("have a key, and are deleted by remove() and removePeople()", async () => {
    const { folder } = project;
    const [ada, bob] = [
      await person({ role: "member", folder }),
      await person({ role: "lead", folder }),
    ];
    expect(ada.email).toEndWith("@rowhouse.localhost");
    const { baseUrl } = readDev(folder);
    const read = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${baseUrl}/v1/data/me?app=wiki`, { headers });
      return [response.status, Object(await response.json())["role"]];
    };
    const keys = [await ada.key(), await bob.key()] as const;
    expect([await read(keys[0]), await read(keys[1])]).toEqual([
      [200, "member"],
      [200, "lead"],
    ]);
    await ada.remove();
    expect((await read(keys[0]))[0]).toBe(401);
    await removePeople();
    expect((await read(keys[1]))[0]).toBe(401);
    expect((await runCommand(["admin", "list-users", "--json"], project)).out).not.toContain(
      "test-",
    );
  });

  test("dev has a person for each role of the rules", async () => {
    const { email = "", password } = readDev(project.folder).roles?.["lead"] ?? {};
    expect(email).toBe("lead@rowhouse.localhost");
    expect(started).toContain(`  as ${email} with ${password} (role lead)\n`);
    expect(started).toMatch(/ {2}as person@rowhouse\.localhost with \S+ \(role member\)\n/);
    const shown = (await runCommand(["admin", "show-user", email, "--json"], project)).out;
    expect(JSON.parse(shown)).toMatchObject({ grants: [{ app: "wiki", role: "lead" }] });
  });

  test("get a 403 that names the rules of their role, only on dev", async () => {
    const { folder } = project;
    const lead = await person<Todos>({ role: "lead", folder });
    const failure = await lead.db.todos.create({ title: "Milk" }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "forbidden" });
    expect((failure as Error).message).toEndWith(
      "The rules of todos for the role lead: read all rows; never creates, changes or deletes",
    );
    await removePeople();
  });

  test("get the name of the preview that a call lacks", async () => {
    const { db } = await person<Todos>({ role: "lead", folder: project.folder });
    await expect(db.todos.list({ orderBy: [{ id: "asc" }] })).rejects.toThrow(/PREVIEW=filters/);
    await removePeople();
  });

  test("need a valid role", async () => {
    await expect(person({ role: "Not a role", folder: project.folder })).rejects.toThrow(/role/);
  });

  test("are only for the token of this run of dev", async () => {
    const { baseUrl } = readDev(project.folder);
    const ask = (headers: Record<string, string>) =>
      fetch(`${baseUrl}/rowhouse-dev/people`, {
        method: "POST",
        headers,
        body: '{"role":"member"}',
      });
    for (const headers of [
      {},
      { authorization: "Bearer " },
      { authorization: `Bearer ${"a".repeat(49)}` },
    ])
      expect((await ask(headers)).status).toBe(401);
  });
});

describe("without rowhouse dev, person() refuses", () => {
  const refusal = (folder: string) =>
    person({ role: "member", folder }).then(
      () => "a person",
      ({ message }: Error) => message,
    );

  test("a folder in which dev does not run, whatever the settings of a service are", async () => {
    using other = makeProject({ ".env": "DATABASE_URL=postgres://db.example.org/wiki\n" });
    expect(await refusal(other.folder)).toContain("rowhouse dev does not run in this project");
  });

  test.each([
    {
      name: "a file with the address of another machine",
      file: { baseUrl: "https://api.example.org", testToken: "a" },
      wanted: "is not an address of this machine",
    },
    {
      name: "a file of an older release",
      file: { baseUrl: "http://localhost:1" },
      wanted: "of another release",
    },
    {
      name: "a dev that has stopped",
      file: { baseUrl: "http://localhost:1", testToken: "a" },
      wanted: "Cannot reach rowhouse dev",
    },
  ])("$name", async ({ file, wanted }) => {
    using other = makeProject({ "package.json": "{}" });
    mkdirSync(join(other.folder, ".rowhouse"));
    const path = join(other.folder, ".rowhouse/dev.json");
    writeFileSync(path, JSON.stringify(file));
    chmodSync(path, 0o600);
    expect(await refusal(other.folder)).toContain(wanted);
  });
});
