/** The names of scripts. @module */
import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { listSources, SCRIPT_NAMES } from "./assets.tsx";

describe("the name of a script", () => {
  test("depends on every source that is in a script", async () => {
    const { metafile } = await Bun.build({
      entrypoints: SCRIPT_NAMES.map((name) => `${import.meta.dir}/scripts/${name}.ts`),
      target: "browser",
      metafile: true,
    });
    const bundled = Object.keys(metafile?.inputs ?? {}).map((path) => resolve(path));
    expect(bundled.length).toBeGreaterThan(SCRIPT_NAMES.length);
    const listed = new Set(listSources());
    expect(bundled.filter((path) => !listed.has(path))).toEqual([]);
  });
});
