import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

// An app's compiler reads these sources with the app's flags, and possibly without the types of the DOM or a runtime.
test("the schema language compiles under every strict flag", async () => {
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const run = Bun.spawn(
    [process.execPath, tsc, "--project", join(import.meta.dir, "strictest.json")],
    { cwd: ROOT },
  );
  expect(await new Response(run.stdout).text()).toBe("");
  expect(await run.exited).toBe(0);
});

test("the schema language imports only itself, src/kinds and src/std", async () => {
  const built = await Bun.build({
    entrypoints: [join(ROOT, "src/schema/mod.ts")],
    target: "browser",
    metafile: true,
  });
  const inputs = Object.keys(built.metafile?.inputs ?? {});
  expect(inputs.length).toBeGreaterThan(10);
  expect(
    inputs.filter((path) => !/(^|\/)src\/(schema|kinds|std)\/[a-z0-9_]+\.ts$/.test(path)),
  ).toEqual([]);
});
