import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const { exports } = await Bun.file(join(ROOT, "package.json")).json();
const ENTRIES = Object.values<{ default: string }>(exports).map((target) =>
  join(ROOT, target.default.replace("/dist/", "/src/").replace(/\.js$/, ".ts")),
);

/** What a browser loads for these entries. */
async function build(...entrypoints: string[]) {
  const { outputs, metafile } = await Bun.build({
    entrypoints,
    external: ["react"],
    // For a browser, Bun would add its own code that preloads chunks.
    target: "node",
    minify: true,
    metafile: true,
    splitting: true,
  });
  const text = (await Promise.all(outputs.map((output) => output.text()))).join("");
  return { text, metafile };
}

const SIZES = [
  { entry: "data", kb: 12, parts: ["/v1/data/db/", "text/event-stream", "last-event-id", "not."] },
  { entry: "app", kb: 13, parts: ["/v1/data/db/", "/session-key", "/v1/auth/me"] },
];
test.each(SIZES)(
  "rowhouse/$entry is smaller than $kb KB for a browser, with all its parts",
  async ({ entry, kb, parts }) => {
    const { text } = await build(join(ROOT, `src/sdk/${entry}.ts`));
    const { byteLength } = Bun.gzipSync(text);
    console.log(`rowhouse/${entry}: ${text.length} bytes minified, ${byteLength} with gzip`);
    for (const part of parts) expect(text).toContain(part);
    expect(byteLength).toBeLessThan(kb * 1024);
  },
);

// The chunk of a dynamic import changes its name when Vite finds another entry: pages that are open cannot load it.
test("no entry imports a part of the package when it is used", async () => {
  const { metafile } = await build(...ENTRIES);
  const imports = Object.values(metafile?.inputs ?? {}).flatMap((input) => input.imports);
  expect(ENTRIES.length).toBeGreaterThan(7);
  expect(imports.length).toBeGreaterThan(50);
  expect(imports.filter(({ kind }) => kind !== "import-statement")).toEqual([]);
});

const { text, metafile } = await build(join(ROOT, "src/sdk/data.ts"), join(ROOT, "src/sdk/app.ts"));

test("the data client contains only src/sdk and the order of values", () => {
  const inputs = Object.values(metafile?.outputs ?? {}).flatMap((output) =>
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
