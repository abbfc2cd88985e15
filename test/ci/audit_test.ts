/** The audit of CI against registries with and without advisories, and without the endpoint. */
import { expect, test } from "bun:test";
import { AUDITED, auditPackages } from "./audit.ts";

const ADVISORY = {
  id: 1,
  url: "https://example.org/advisory",
  title: "Leaks everything",
  severity: "high",
  vulnerable_versions: "<99.0.0",
};

test.each([
  { name: "no advisories", response: () => Response.json({}), want: { kind: "clean" } },
  {
    name: "an advisory",
    response: () => Response.json({ valibot: [ADVISORY] }),
    want: { kind: "vulnerable", advisories: ["valibot: Leaks everything (high)"] },
  },
  {
    name: "a registry without an advisory endpoint",
    response: () => new Response("", { status: 405 }),
    want: { kind: "unknown", reason: expect.stringContaining("405") },
  },
])("auditPackages() returns $want.kind for $name", async ({ response, want }) => {
  const registry = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: response });
  try {
    const env = { PATH: process.env["PATH"], NPM_CONFIG_REGISTRY: `${registry.url}` };
    expect(await auditPackages(".", env)).toEqual(want as never);
  } finally {
    await registry.stop(true);
  }
});

test("the audit covers every lock file of the project", async () => {
  const locks = [...new Bun.Glob("**/bun.lock").scanSync({ cwd: `${import.meta.dirname}/../..` })];
  const own = locks.filter((path) => !path.includes("node_modules/"));
  expect(own.map((path) => path.replace(/\/?bun\.lock$/, "") || ".").sort()).toEqual(
    [...AUDITED].sort(),
  );
});
