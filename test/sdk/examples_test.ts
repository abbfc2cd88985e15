import { afterAll, beforeAll, describe, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { findExamples, runExample } from "../support/examples.ts";
import { openTestHouse, type TestHouse } from "../support/house.ts";

const examples = await findExamples("src/sdk");
const SETTINGS = ["ROWHOUSE_URL", "ROWHOUSE_API_KEY"] as const;
const before = SETTINGS.map((name) => [name, process.env[name]] as const);

let house: TestHouse;
beforeAll(async () => {
  house = await openTestHouse();
});
afterAll(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await house.close();
});

describe("examples run against a served house:", () => {
  test.each(examples.map((example) => ({ ...example, at: `${example.file}:${example.line}` })))(
    "$at",
    async (example) => {
      process.env["ROWHOUSE_URL"] = house.url;
      process.env["ROWHOUSE_API_KEY"] = (await house.makeApp(schema)).key;
      await runExample(example);
    },
  );
});
