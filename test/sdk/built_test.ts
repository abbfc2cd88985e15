import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const built = await Bun.build({
  entrypoints: [join(ROOT, "src/sdk/data.ts")],
  target: "browser",
  minify: true,
  metafile: true,
});
const text = (await built.outputs[0]?.text()) ?? "";

test("the data client is smaller than 8 KB for a browser", () => {
  const { byteLength } = Bun.gzipSync(text);
  console.log(`rowhouse/data: ${text.length} bytes minified, ${byteLength} with gzip`);
  expect(text).toContain("/v1/data/db/");
  expect(byteLength).toBeLessThan(8 * 1024);
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
