import { expect, test } from "bun:test";
import { basename, join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const built = await Bun.build({
  entrypoints: [join(ROOT, "src/sdk/data.ts"), join(ROOT, "src/sdk/app.ts")],
  // For a browser, Bun would add its own code that preloads chunks.
  target: "node",
  minify: true,
  metafile: true,
  splitting: true,
});
const chunks = new Map<string, string>();
for (const output of built.outputs) chunks.set(basename(output.path), await output.text());
const text = [...chunks.values()].join("");

/** The entry with the chunks that a page loads with it; other chunks are loaded when a program uses them. */
function readFirst(name: string, read = new Set<string>()): string {
  if (read.has(name)) return "";
  read.add(name);
  const chunk = chunks.get(name) ?? "";
  const imported = [...chunk.matchAll(/from"([^"]+)"/g)].map(([, path = ""]) => basename(path));
  return [chunk, ...imported.map((path) => readFirst(path, read))].join("");
}

test("the data client is smaller than 8 KB for a browser, without what it loads when used", () => {
  const first = readFirst("data.js");
  const { byteLength } = Bun.gzipSync(first);
  console.log(`rowhouse/data: ${first.length} bytes minified, ${byteLength} with gzip`);
  expect(first).toContain("/v1/data/db/");
  expect(byteLength).toBeLessThan(8 * 1024);
});

test("the app client is smaller than 11 KB for a browser, without what it loads when used", () => {
  const first = readFirst("app.js");
  const { byteLength } = Bun.gzipSync(first);
  console.log(`rowhouse/app: ${first.length} bytes minified, ${byteLength} with gzip`);
  for (const part of ["/v1/data/db/", "/session-key", "/v1/auth/me"]) expect(first).toContain(part);
  expect(byteLength).toBeLessThan(11 * 1024);
});

test("event streams and the text of queries are loaded when used", () => {
  const { byteLength } = Bun.gzipSync(text);
  console.log(`rowhouse/data with all chunks: ${byteLength} bytes with gzip`);
  const first = readFirst("data.js");
  for (const part of ["text/event-stream,", "last-event-id", "not.and"]) {
    expect(text).toContain(part.replace(",", ""));
    expect(first).not.toContain(part);
  }
});

test("the data client contains only src/sdk and the order of values", () => {
  const inputs = Object.values(built.metafile?.outputs ?? {}).flatMap((output) =>
    Object.entries(output.inputs).map(([path, { bytesInOutput }]) => ({ path, bytesInOutput })),
  );
  const others = inputs.filter(({ path }) => !/(^|\/)src\/sdk\/[a-z_]+\.ts$/.test(path));
  expect(inputs.length - others.length).toBeGreaterThan(3);
  const bytes = others.reduce((sum, { bytesInOutput }) => sum + bytesInOutput, 0);
  expect(others.filter(({ path }) => !/(^|\/)src\/(kinds|std)\//.test(path))).toEqual([]);
  expect(bytes).toBeLessThan(1500);
});

test("the data client uses no API that is specific to one runtime", () => {
  expect(text).not.toMatch(/\b(Bun|process|Deno|Buffer|require|window|document|localStorage)\b/);
});

test("rowhouse-client has the version and the modules of rowhouse, and no dependencies", async () => {
  const rowhouse = await Bun.file(join(ROOT, "package.json")).json();
  const client = await Bun.file(join(ROOT, "packages/client/package.json")).json();
  const { version, license, exports } = rowhouse;
  expect(client).toMatchObject({ version, license, exports });
  expect(client).not.toHaveProperty("dependencies");
});
