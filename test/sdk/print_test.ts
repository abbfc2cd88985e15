import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, ROOT } from "../support/command.ts";
import { openTestService, type TestService } from "../support/service.ts";

let service: TestService;
let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  service = await openTestService();
  const schema = defineSchema({
    todos: { title: t.string().required(), rank: t.number(), project: t.uuid() },
  });
  const app = await service.makeApp(schema);
  const built = await Bun.build({ entrypoints: [join(ROOT, "src/sdk/data.ts")] });
  const client = JSON.stringify({ baseUrl: service.url, apiKey: app.key });
  project = makeProject({
    "data.mjs": (await built.outputs[0]?.text()) ?? "",
    "main.mjs": `import { createDataClient } from "./data.mjs";
const db = createDataClient(${client});
const wrong = () => db.todos.create({ title: 1, rank: "x", project: "y" });
const print = (name, shown) => console.log("\\n== " + name, shown);
const one = await db.todos.create({ title: 1 }).catch((error) => error);
const none = await db.todos.get(crypto.randomUUID()).catch((error) => error);
const error = await wrong().catch((error) => error);
for (const [name, { message }] of Object.entries({ one, none, error })) print("message of " + name, message);
print("error", error);
print("nested", { log: { error } });
console.log("\\n== uncaught");
await wrong();
`,
  });
});
afterAll(async () => {
  project.remove();
  await service.close();
});

/** The output of a runtime, by its headings. */
async function print(runtime: string): Promise<Map<string, string>> {
  const child = Bun.spawn(["sh", "-c", '"$0" main.mjs 2>&1', runtime], {
    cwd: project.folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] ?? "", NO_COLOR: "1" },
  });
  const sections = (await new Response(child.stdout).text()).split("\n== ").slice(1);
  return new Map(
    sections.map((section) => {
      const [, name = "", text = ""] = /^(message of \w+|\w+)\s(.*)$/s.exec(section) ?? [];
      return [name, text];
    }),
  );
}

const LINES = ["/title must be a string", "/rank must be a number", "/project must be a uuid"];

test.each([
  { name: "Bun", runtime: process.execPath },
  { name: "Node", runtime: Bun.which("node") ?? "node" },
])("$name prints the failed call and a message for every issue", async ({ runtime }) => {
  const printed = await print(runtime);
  expect(printed.get("message of one")).toBe("todos.create: /title must be a string\n");
  expect(printed.get("message of none")).toBe("todos.get: This app has no row with that id\n");
  expect(printed.get("message of error")).toBe(
    "todos.create: /title must be a string (and 2 more)\n",
  );
  for (const how of ["error", "nested", "uncaught"]) {
    for (const line of LINES) expect(printed.get(how)).toContain(line);
    expect(printed.get(how)).not.toContain("[Object");
  }
});
