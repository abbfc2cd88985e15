/** Runs the examples of docs/query.md with the preview on, over the tables of docs/data.md. */
import { expect } from "bun:test";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { ROOT } from "../support/command.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";
import { type Block, readBlocks } from "./blocks.ts";

const HERE = "test/docs/preview_examples_test.ts";
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const testOne = testUnlessCitus("a cluster has no previews");

let app: TestApp;
const service = await share(openTestService({ service: { previews: ["filters"] } }));

async function readPage(name: string): Promise<{ page: string; blocks: Block[] }> {
  const page = await Bun.file(join(ROOT, "docs", name)).text();
  const blocks = readBlocks(page);
  return { page, blocks: blocks.filter(({ mark }) => mark?.text === HERE) };
}

/** An app with the schema of docs/data.md, and a client. */
async function makeApp() {
  const { page } = await readPage("data.md");
  const block = readBlocks(page).find(({ code }) => code.includes("defineSchema"));
  const code = (block?.code ?? "").replace(/^import.*$/m, "").replace("export default", "return");
  const plain = code.replace(/<\{.*\}>/, "");
  const schema = new Function("defineSchema", "t", plain)(defineSchema, t);
  app = await service.makeApp(schema);
  const client = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
  const { projects, todos } = client as unknown as Record<"projects" | "todos", Creating>;
  const garden = await projects.create({ name: "Garden" });
  const house = await projects.create({ name: "House" });
  await todos.create({ title: "Water the plants", project: garden.id });
  await todos.create({ title: "Milk", project: house.id });
  await todos.create({ title: "Paint", project: house.id, status: "done" });
  return { db: client, garden };
}

type Creating = { create: (values: object) => Promise<{ id: string }> };

testOne("the requests of docs/query.md", async () => {
  await makeApp();
  const { blocks } = await readPage("query.md");
  const requests = blocks.filter(({ language }) => language === "sh");
  expect(requests.length).toBeGreaterThanOrEqual(7);
  for (const { code, line } of requests) {
    const env = {
      ...process.env,
      ROWHOUSE_URL: service.url,
      todos: `${service.url}/v1/data/db/todos`,
      auth: `authorization: Bearer ${app.key}`,
      json: "content-type: application/json",
    };
    const child = Bun.spawn(["bash", "-c", code], { env, stdout: "pipe", stderr: "inherit" });
    const found = JSON.parse(await new Response(child.stdout).text());
    expect([line, found]).toEqual([
      line,
      expect.not.objectContaining({ error: expect.anything() }),
    ]);
    const next = blocks[blocks.findIndex((block) => block.line === line) + 1];
    if (next?.language !== "json") continue;
    const shown = JSON.parse(next.code);
    expect([line, Object.keys(found)]).toEqual([line, Object.keys(shown)]);
    const { limit, results } = shown;
    expect([line, found.limit, found.results]).toEqual([line, limit, results]);
    if (Object.keys(shown)[0] === "count") expect([line, found.count]).toEqual([line, shown.count]);
  }
});

testOne("the calls of docs/query.md", async () => {
  const { db, garden } = await makeApp();
  const { blocks } = await readPage("query.md");
  const printed: unknown[][] = [];
  const console = { log: (...values: unknown[]) => printed.push(values) };
  for (const { code } of blocks.filter(({ language }) => language === "ts"))
    await new AsyncFunction("db", "garden", "console", code)(db, garden, console);
  expect(printed).toEqual([
    ["Water the plants", 1, null],
    ["Garden"],
    [[{ title: "Water the plants" }], false],
    ["open", 1, null, expect.any(String)],
  ]);
});
