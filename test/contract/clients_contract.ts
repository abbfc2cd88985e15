/** Independent generators create clients from the service's document. The clients compile, and work as documented. */
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
/** The expected results of both clients. */
const SEEN = {
  created: {
    enum: "green",
    decimal: "0.10",
    integer: Number.MIN_SAFE_INTEGER,
    date: "0001-01-01",
    timestamp: "2026-01-02T03:04:05+00:00",
    json: { nested: [1, "two", null] },
  },
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

/** The expected results of both clients if lists accept conditions. */
const FILTERED = { listed: ["third", "second"], hasNext: true, one: ["first"] };

/** The expected results of both clients of upserts and of writes of many rows. */
const WRITTEN = {
  results: ["unchanged", "updated", "created"],
  ignored: "1",
  wrong: "invalid_query",
  stale: "precondition_failed",
  updated: ["6", "5"],
  dry: [2, 2],
  changed: [1, true],
  listed: 1,
  deleted: 1,
  once: [1, 1],
  unconditional: "invalid_query",
};

/** The expected results of the Python client of dates, upserts and related rows. */
const RELATED = {
  results: ["updated", "created"],
  days: ["2026-03-01", "2026-03-02"],
  related: { wanted: "referred to" },
};

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
  testTools("generate a client that upserts, and writes many rows", async () => {
    expect(await runTypescript(filtered, "writes.ts")).toEqual(WRITTEN);
  });
});

/** Runs a program with the generated types, and returns its output. */
async function runTypescript(of: Served, program: string): Promise<unknown> {
  const folder = join(of.folder, program);
  await Bun.write(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await Bun.write(join(folder, program), Bun.file(join(CLIENTS, program)));
  symlinkSync(TOOLS, join(folder, "node_modules"));
  await Bun.write(join(folder, "openapi.json"), Bun.file(of.document));
  const generator = join(TOOLS, ".bin/openapi-typescript");
  const args = await readArguments("openapi-typescript");
  await run([process.execPath, generator, ...args], { folder });
  await run([join(ROOT, "node_modules/.bin/tsc"), "--project", folder, "--noEmit"]);
  const { out } = await run([process.execPath, join(folder, program)], {
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
  test("generates a client that upserts, and writes many rows", async () => {
    expect(await runPython(filtered, { program: "writes.py", programs })).toEqual(WRITTEN);
  });
  test("generates a client with dates, upserts and related rows", async () => {
    expect(await runPython(filtered, { program: "related.py", programs })).toEqual(RELATED);
  });
});

type PythonProgram = { program: string; programs: string };

/** Runs a program with the generated package, and returns its output. */
async function runPython(of: Served, { program, programs }: PythonProgram): Promise<unknown> {
  const folder = join(of.folder, program);
  await Bun.write(join(folder, program), Bun.file(join(CLIENTS, program)));
  const env = { ...(await of.makeClient()), PATH: `${programs}:${process.env["PATH"]}` };
  const options = { folder, env };
  await Bun.write(join(folder, "openapi.json"), Bun.file(of.document));
  const generator = join(programs, "openapi-python-client");
  const args = await readArguments("openapi-python-client");
  await run([generator, ...args, "--fail-on-warning"], options);
  await run([join(programs, "python"), "-m", "compileall", "-q", folder], options);
  // Strict only for the program: the generator's own code is not ours to check.
  await run([join(programs, "mypy"), "--strict", "--follow-imports=silent", program], options);
  const { out } = await run([join(programs, "python"), program], options);
  return JSON.parse(out);
}

/** Returns the arguments of a generator in the documentation. */
async function readArguments(program: string): Promise<string[]> {
  const page = await Bun.file(join(ROOT, "docs/data.md")).text();
  const [, args = ""] = new RegExp(`^(?:npx )?${program} ([^#\n]+)`, "m").exec(page) ?? [];
  return args.trim().split(" ");
}
