import { expect, test } from "bun:test";
import { makeProject, runCommand } from "../support/command.ts";

test("db push stops a schema that loops forever after 10 s", async () => {
  using project = makeProject({ "schema/mod.ts": "while (true);\n" });
  const env = { ROWHOUSE_URL: "http://127.0.0.1:1", ROWHOUSE_API_KEY: "rh_key.secret" };
  const { code, out, err } = await runCommand(["db", "push"], { ...project, env });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("Cannot read schema/mod.ts: it did not finish within 10 s");
}, 30_000);
