/** A planted `.rowhouse/dev.json`, as a cloned repository can contain: no command sends a key or a row to its addresses. */
import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, showHere } from "../support/command.ts";
import { freshName } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** Another server, with the requests that it received. */
const received: string[] = [];
const service = await share(openTestService());
const other = await share(
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      received.push(url);
      return new Response();
    },
  }),
);

const PERSON = { email: "a@example.org", password: "secret-word" };
const dev = (more: Record<string, string>) => ({
  baseUrl: service.url,
  gatewayUrl: service.url,
  identityUrl: service.url,
  ...{ app: "wiki", apiKey: "rh_k3x9q0m2w8z5t1ab.Hx2B", identitySecrets: [] },
  databaseUrl: "postgres://nobody@127.0.0.1:1/none",
  ...{ admin: PERSON, user: PERSON },
  ...more,
});

async function run(words: string[], { file, mode }: { file: object; mode: number }) {
  using project = makeProject({
    ".rowhouse/dev.json": JSON.stringify(file),
    "rows.csv": "title\na\n",
    "schema/mod.ts":
      'import { defineSchema } from "rowhouse/schema";\nexport default defineSchema({});\n',
  });
  chmodSync(join(project.folder, ".rowhouse/dev.json"), mode);
  const { code, out, err } = await showHere(words, project);
  return { code, text: out + err };
}

const COMMANDS = [
  ["data", "import", "todos", "rows.csv"],
  ["data", "export", "todos"],
  ["db", "push"],
  ["db", "status"],
  ["db", "pull"],
];
const ADMIN = [["admin", "list-apps"], ["db", "status", "--app", "wiki"], ["migrate"], ["doctor"]];
// Resolves to this machine, but is not a name of it.
const FOREIGN = () => `http://planted.example.org:${other.port}`;

test.each(COMMANDS)("%s %s rejects the address of another machine", async (...words) => {
  const run_ = await run(words, { file: dev({ baseUrl: FOREIGN() }), mode: 0o600 });
  expect(run_.code).toBe(1);
  expect(run_.text).toContain("is not an address of this machine");
});

test.each([...COMMANDS, ...ADMIN])(
  "%s %s rejects a file that others can read",
  async (...words) => {
    const baseUrl = `http://127.0.0.1:${other.port}`;
    const rejected = await run(words, { file: dev({ baseUrl, gatewayUrl: baseUrl }), mode: 0o644 });
    expect(rejected.code).toBe(1);
    expect(rejected.text).toContain("it must belong to you, with the mode 0600");
    expect(received).toEqual([]);
  },
);

test.each([
  "postgres://me@db.example.org/wiki",
  "postgres://me@localhost,db.example.org/wiki",
  "postgres://me%40db.example.org%2Cx@localhost/wiki",
  "postgres://me@localhost.example.org/wiki",
])("rejects the database %s", async (databaseUrl) => {
  for (const words of ADMIN) {
    const rejected = await run(words, { file: dev({ databaseUrl }), mode: 0o600 });
    expect([words, rejected.code, rejected.text]).toEqual([
      words,
      1,
      expect.stringContaining("it is not on this machine"),
    ]);
  }
});

test("a file of dev is used, and the command names its address", async () => {
  const table = freshName();
  const app = await service.makeApp(defineSchema({ [table]: { title: t.string() } }));
  const file = dev({ apiKey: app.key });
  const imported = await run(["data", "import", table, "rows.csv"], { file, mode: 0o600 });
  expect(imported).toEqual({
    code: 0,
    text: `Stored 1 row in ${table}\nDestination: dev (${service.url}, app wiki)\n`,
  });
});
