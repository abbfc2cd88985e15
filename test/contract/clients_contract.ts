/** Programs that no one here wrote make clients of the service's document: they compile, and do what the document says. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { findPython, run } from "./python.ts";
import { openServed, type Served } from "./served.ts";

const TOOLS = join(ROOT, "test/ci/tools/node_modules");
const NO_TOOLS = existsSync(join(TOOLS, "openapi-typescript"))
  ? undefined
  : "bun install --cwd test/ci/tools has not been run";
const python = await findPython();
const CLIENTS = join(import.meta.dirname, "clients");
const TSCONFIG = {
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: { types: [], paths: {}, skipLibCheck: false },
  include: ["*.ts"],
};
/** What both clients saw. */
const SEEN = {
  created: { enum: "green", decimal: "0.10", json: { nested: [1, "two", null] } },
  read: "first",
  listed: ["first"],
  changed: "second",
  stale: "precondition_failed",
  batch: ["third", "fourth"],
  refused: { error: "validation_failed", paths: ["/wanted"] },
  deleted: 204,
  missing: "not_found",
  person: { role: "editor" },
};

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(() => served?.close());

describe("redocly", () => {
  if (NO_TOOLS !== undefined) test.skip(NO_TOOLS, () => undefined);
  test.each(NO_TOOLS === undefined ? (["document", "keyless"] as const) : [])(
    "finds no problem in the %s",
    async (name) => {
      const redocly = [process.execPath, join(TOOLS, ".bin/redocly")];
      const { out } = await run(
        [...redocly, "lint", "--extends=recommended", "--format=json", served[name]],
        { env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" } },
      );
      const { totals, problems } = JSON.parse(out);
      expect({ totals, problems }).toEqual({
        totals: { errors: 0, warnings: 0, ignored: 0 },
        problems: [],
      });
    },
  );
});

describe("openapi-typescript and openapi-fetch", () => {
  if (NO_TOOLS !== undefined) test.skip(NO_TOOLS, () => undefined);
  test.skipIf(NO_TOOLS !== undefined)("make a client that compiles and works", async () => {
    const place = join(served.folder, "typescript");
    await Bun.write(join(place, "tsconfig.json"), JSON.stringify(TSCONFIG));
    await Bun.write(join(place, "client.ts"), Bun.file(join(CLIENTS, "client.ts")));
    symlinkSync(TOOLS, join(place, "node_modules"));
    await Bun.write(join(place, "openapi.json"), Bun.file(served.document));
    const generator = join(TOOLS, ".bin/openapi-typescript");
    const words = await readCommand("openapi-typescript");
    await run([process.execPath, generator, ...words], { folder: place });
    await run([join(ROOT, "node_modules/.bin/tsc"), "--project", place, "--noEmit"]);
    const { out } = await run([process.execPath, join(place, "client.ts")], {
      env: await served.makeClient(),
    });
    expect(JSON.parse(out)).toEqual(SEEN);
  });
});

describe("openapi-python-client", () => {
  if ("missing" in python) test.skip(python.missing, () => undefined);
  test.skipIf("missing" in python)("makes a client that compiles and works", async () => {
    if ("missing" in python) return;
    const { programs } = python;
    const place = join(served.folder, "python");
    await Bun.write(join(place, "client.py"), Bun.file(join(CLIENTS, "client.py")));
    const env = { ...(await served.makeClient()), PATH: `${programs}:${process.env["PATH"]}` };
    const options = { folder: place, env };
    await Bun.write(join(place, "openapi.json"), Bun.file(served.document));
    const generator = join(programs, "openapi-python-client");
    const words = await readCommand("openapi-python-client");
    await run([generator, ...words, "--fail-on-warning"], options);
    await run([join(programs, "python"), "-m", "compileall", "-q", place], options);
    // Of the package only the types count: what the generator writes around them is its own.
    await run(
      [join(programs, "mypy"), "--strict", "--follow-imports=silent", "client.py"],
      options,
    );
    const { out } = await run([join(programs, "python"), "client.py"], options);
    expect(JSON.parse(out)).toEqual(SEEN);
  });
});

/** The words that the page gives a generator. */
async function readCommand(program: string): Promise<string[]> {
  const page = await Bun.file(join(ROOT, "docs/data.md")).text();
  const [, words = ""] = new RegExp(`^(?:npx )?${program} ([^#\n]+)`, "m").exec(page) ?? [];
  return words.trim().split(" ");
}
