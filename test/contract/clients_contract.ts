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
/** The documents to check. */
const NAMES = (["", "filters"] as const).flatMap((previews) =>
  (["document", "keyless"] as const).map((name) => ({ name, previews })),
);
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
  rejected: { error: "validation_failed", paths: ["/wanted"] },
  deleted: 204,
  missing: "not_found",
  person: { role: "editor" },
};

/** What both clients saw where lists accept conditions. */
const FILTERED = { listed: ["third", "second"], hasNext: true, one: ["first"] };

let served: Served;
let filtered: Served;
beforeAll(async () => {
  [served, filtered] = [await openServed(), await openServed(["filters"])];
});
afterAll(() => Promise.all([served?.close(), filtered?.close()]));

describe("redocly", () => {
  if (NO_TOOLS !== undefined) test.skip(NO_TOOLS, () => undefined);
  test.each(NO_TOOLS === undefined ? NAMES : [])(
    "finds no problem in the $name with the previews $previews",
    async ({ name, previews }) => {
      const { [name]: path } = previews === "filters" ? filtered : served;
      const redocly = [process.execPath, join(TOOLS, ".bin/redocly")];
      const { out } = await run(
        [...redocly, "lint", "--extends=recommended", "--format=json", path],
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
  const testTools = test.skipIf(NO_TOOLS !== undefined);
  testTools("generate a client that compiles and works", async () => {
    expect(await runTypescript(served, "client.ts")).toEqual(SEEN);
  });
  testTools("generate a client that lists with conditions", async () => {
    expect(await runTypescript(filtered, "filters.ts")).toEqual(FILTERED);
  });
});

/** What a program over the generated types prints. */
async function runTypescript(of: Served, program: string): Promise<unknown> {
  const place = join(of.folder, "typescript");
  await Bun.write(join(place, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await Bun.write(join(place, program), Bun.file(join(CLIENTS, program)));
  symlinkSync(TOOLS, join(place, "node_modules"));
  await Bun.write(join(place, "openapi.json"), Bun.file(of.document));
  const generator = join(TOOLS, ".bin/openapi-typescript");
  const words = await readCommand("openapi-typescript");
  await run([process.execPath, generator, ...words], { folder: place });
  await run([join(ROOT, "node_modules/.bin/tsc"), "--project", place, "--noEmit"]);
  const { out } = await run([process.execPath, join(place, program)], {
    env: await of.makeClient(),
  });
  return JSON.parse(out);
}

describe("openapi-python-client", () => {
  if ("missing" in python) test.skip(python.missing, () => undefined);
  if ("missing" in python) return;
  const { programs } = python;
  test("generates a client that compiles and works", async () => {
    expect(await runPython(served, { program: "client.py", programs })).toEqual(SEEN);
  });
  test("generates a client that lists with conditions", async () => {
    expect(await runPython(filtered, { program: "filters.py", programs })).toEqual(FILTERED);
  });
});

type PythonProgram = { program: string; programs: string };

/** What a program over the generated package prints. */
async function runPython(of: Served, { program, programs }: PythonProgram): Promise<unknown> {
  const place = join(of.folder, "python");
  await Bun.write(join(place, program), Bun.file(join(CLIENTS, program)));
  const env = { ...(await of.makeClient()), PATH: `${programs}:${process.env["PATH"]}` };
  const options = { folder: place, env };
  await Bun.write(join(place, "openapi.json"), Bun.file(of.document));
  const generator = join(programs, "openapi-python-client");
  const words = await readCommand("openapi-python-client");
  await run([generator, ...words, "--fail-on-warning"], options);
  await run([join(programs, "python"), "-m", "compileall", "-q", place], options);
  // Of the package only the types count: what the generator writes around them is its own.
  await run([join(programs, "mypy"), "--strict", "--follow-imports=silent", program], options);
  const { out } = await run([join(programs, "python"), program], options);
  return JSON.parse(out);
}

/** The words that the page gives a generator. */
async function readCommand(program: string): Promise<string[]> {
  const page = await Bun.file(join(ROOT, "docs/data.md")).text();
  const [, words = ""] = new RegExp(`^(?:npx )?${program} ([^#\n]+)`, "m").exec(page) ?? [];
  return words.trim().split(" ");
}
