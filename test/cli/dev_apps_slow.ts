/** One `dev` for several apps: each project has its own schema, key and files, and its folder selects it for commands. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  expectFailure,
  makeProject,
  type Running,
  runCommand,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { callDev, devFileOf, readDev, startDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";

setDefaultTimeout(90_000);
const CONTACTS = "{ contacts: { name: t.string().required() } }";

let dev: Running;
const parent = makeProject({
  "Our Wiki/rowhouse.json": '{ "app": "wiki", "apps": ["../mate 2"], "previews": ["browser"] }',
  "Our Wiki/schema/mod.ts": schemaText("{ pages: { title: t.string().required() } }"),
  "mate 2/rowhouse.json": '{ "app": "crm" }',
  "mate 2/schema/mod.ts": schemaText(CONTACTS),
});
const wiki = () => join(parent.folder, "Our Wiki");
const crm = () => join(parent.folder, "mate 2");
dev = await startDev(wiki());
afterAll(async () => {
  await dev.kill("SIGTERM");
  parent.remove();
});

test("dev pushes an edit that is saved while it still starts", async () => {
  using starting = makeProject({
    "wiki/rowhouse.json": '{ "app": "wiki", "apps": ["../crm"] }',
    "wiki/schema/mod.ts": schemaText("{ pages: { title: t.string() } }"),
    "crm/schema/mod.ts": schemaText(CONTACTS),
  });
  const folder = join(starting.folder, "wiki");
  const started = startCommand(["dev", "--port", "0"], { folder });
  // The push of the other project follows.
  await started.until(/^Wrote \.rowhouse\/types\.d\.ts/m);
  const edited = "{ pages: { title: t.string(), body: t.string() } }";
  writeFileSync(join(folder, "schema/mod.ts"), schemaText(edited));
  await started.until(/add column pages\.body/);
  expect(await started.kill("SIGTERM")).toBe(0);
});

describe("dev with apps in rowhouse.json", () => {
  test("serves each app with its own key and tables", async () => {
    expect([readDev(wiki()).app, readDev(crm()).app]).toEqual(["wiki", "crm"]);
    expect(readDev(crm()).baseUrl).toBe(readDev(wiki()).baseUrl);
    expect(dev.output()).toContain(readDev(crm()).apiKey);
    expect((await callDev(wiki(), "/v1/data/db/pages", { title: "Home" })).status).toBe(201);
    expect((await callDev(crm(), "/v1/data/db/contacts", { name: "Ada" })).status).toBe(201);
    expect((await callDev(wiki(), "/v1/data/db/contacts")).status).toBe(404);
    expect((await callDev(crm(), "/v1/data/db/pages")).status).toBe(404);
  });

  test("lets the folder select the app for other commands", async () => {
    const status = await runCommand(["db", "status"], { folder: crm() });
    expect([status.code, status.out]).toEqual([0, expect.stringContaining("contacts")]);
    expect(status.out).not.toContain("pages");
    const exported = await runCommand(["data", "export", "contacts"], { folder: crm() });
    expect(exported.out).toContain("Ada");
    expect(existsSync(join(crm(), ".rowhouse/types.d.ts"))).toBe(true);
  });

  test("pushes the schema of the project that changed", async () => {
    const text = CONTACTS.replace("} }", "}, deals: { name: t.string() } }");
    writeFileSync(join(crm(), "schema/mod.ts"), schemaText(text));
    const hasDeals = async () => (await callDev(crm(), "/v1/data/db/deals")).status === 200;
    await eventually(hasDeals, { describe: dev.output });
    expect((await callDev(wiki(), "/v1/data/db/deals")).status).toBe(404);
  });

  test("names the folder of a project in its lines, where an advised command works", async () => {
    expect(dev.output()).toContain(`../mate 2:   ${readDev(crm()).apiKey}\n`);
    expect(dev.output()).toContain("../mate 2:   http://crm.rowhouse.localhost:5173\n");
    const text = CONTACTS.replace("name:", "label:");
    writeFileSync(join(crm(), "schema/mod.ts"), schemaText(text));
    const advice =
      /^(.*): Not pushed: .* run rowhouse (db rename contacts\.name label --to dev --yes);/m;
    const [, folder = "", command = ""] = await dev.until(advice);
    const renamed = await runCommand(command.split(" "), { folder: join(wiki(), folder) });
    expect(renamed).toMatchObject({ code: 0, out: expect.stringContaining("Applied") });
    expect((await callDev(crm(), "/v1/data/db/contacts")).json).toMatchObject({
      rows: [{ label: "Ada" }],
    });
  });

  test("has test people of each app, and allows each app's pages", async () => {
    for (const folder of [wiki(), crm()]) {
      const { app, baseUrl, testToken } = readDev(folder);
      const headers = { authorization: `Bearer ${testToken}` };
      const body = JSON.stringify({ role: "member" });
      const made = await fetch(`${baseUrl}/rowhouse-dev/people`, { method: "POST", headers, body });
      expect(await made.json()).toMatchObject({ app, role: "member" });
      for (const port of [5173, 5174]) {
        const origin = `http://${app}.rowhouse.localhost:${port}`;
        const { headers: sent } = await fetch(`${baseUrl}/v1/data/db/pages`, {
          method: "OPTIONS",
          headers: { origin, "access-control-request-method": "GET" },
        });
        expect(sent.get("access-control-allow-origin")).toBe(origin);
      }
    }
  });

  test("gives the person of dev a role on each app", async () => {
    const { out } = await runCommand(["admin", "list-users", "--json"], { folder: crm() });
    const { users } = JSON.parse(out) as { users: { email: string; apps: number }[] };
    const person = users.find(({ email }) => email === "person@rowhouse.localhost");
    expect(person?.apps).toBe(2);
  });

  test("does not start again in the folder of any of its projects", async () => {
    const second = await runCommand(["dev", "--port", "0"], { folder: crm() });
    expect(second).toMatchObject({
      code: 1,
      err: `Another rowhouse dev is using this folder: it runs at ${readDev(crm()).baseUrl}\n`,
    });
  });

  test("keeps keys and rows for the next start, and removes its files at the end", async () => {
    const keys = [wiki(), crm()].map((folder) => readDev(folder).apiKey);
    expect(await dev.kill("SIGTERM")).toBe(0);
    for (const folder of [wiki(), crm()]) expect(existsSync(devFileOf(folder))).toBe(false);
    dev = await startDev(wiki());
    expect([wiki(), crm()].map((folder) => readDev(folder).apiKey)).toEqual(keys);
    expect((await callDev(crm(), "/v1/data/db/contacts")).json).toMatchObject({
      rows: [{ label: "Ada" }],
    });
  });
});

test.each([
  { name: "missing", apps: '["../nowhere"]', message: "the folder does not exist" },
  { name: "its own", apps: '["."]', message: "it is the folder of dev itself" },
  { name: "listed twice", apps: '["../b", "../b/"]', message: "it is listed twice" },
  { name: "of the same name", apps: '["../b"]', message: "another app has its name, same" },
])("a project that is $name is rejected", async ({ apps, message }) => {
  using other = makeProject({
    "a/rowhouse.json": `{ "app": "same", "apps": ${apps} }`,
    "b/rowhouse.json": '{ "app": "same" }',
  });
  expectFailure(
    await runCommand(["dev", "--port", "0"], {
      folder: join(other.folder, "a"),
    }),
    message,
  );
});
