import { afterAll, describe, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { findExamples, runExample } from "../support/examples.ts";
import { openTestService } from "../support/service.ts";

const examples = await findExamples("src/sdk");
const SETTINGS = ["ROWHOUSE_URL", "ROWHOUSE_API_KEY"] as const;
const before = SETTINGS.map((name) => [name, process.env[name]] as const);

const service = await openTestService();
afterAll(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await service.close();
});

describe("examples run against a served service:", () => {
  test.each(examples.map((example) => ({ ...example, at: `${example.file}:${example.line}` })))(
    "$at",
    async (example) => {
      process.env["ROWHOUSE_URL"] = service.url;
      process.env["ROWHOUSE_API_KEY"] = (await service.makeApp(schema)).key;
      await runExample(example);
    },
  );
});
