/** The commands for a schema with rules: what a reviewer and CI see of a change of rules. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { citusUrl } from "../support/citus.ts";
import { ROOT, runHere } from "../support/command.ts";
import { freshName } from "../support/push.ts";
import { RULE_PREVIEWS } from "../support/rules_service.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";

const folder = mkdtempSync(join(tmpdir(), "rowhouse-rules-"));
const service = await openTestService({ service: { ...UNGUARDED, previews: RULE_PREVIEWS } });
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.close();
});

test.skipIf(citusUrl() !== undefined)(
  "a change of rules is a migration of comments, and pending until it is pushed",
  async () => {
    const app = await service.makeApp();
    const table = freshName();
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
    const run = (...args: string[]) => runHere(args, { folder, env });
    const write = (read: string) => {
      mkdirSync(join(folder, "schema"), { recursive: true });
      const text = `import { defineSchema, t } from "${ROOT}/src/schema/mod.ts";
export default defineSchema({ ${table}: t.model({ title: t.string(), owner: t.uuid().owner() }).index("owner", "id").allow("member", { read: ${read} }) });
`;
      writeFileSync(join(folder, "schema/mod.ts"), text);
    };
    write("true");
    expect(await run("db", "push")).toMatchObject({
      code: 0,
      out: expect.stringContaining(`  + member can read ${table}`),
    });

    write('{ owner: "me" }');
    const line = `~ member can read ${table} where owner is the person`;
    const checked = await run("db", "check");
    expect(checked).toMatchObject({ code: 3, out: expect.stringContaining(`\n  ${line}`) });
    const status = await run("db", "status", "--json");
    expect(JSON.parse(status.out)).toMatchObject({ pending: [expect.stringContaining(line)] });

    expect(await run("db", "push")).toMatchObject({ code: 0 });
    expect(await run("db", "check")).toMatchObject({ code: 0 });
    const migrations = join(folder, "schema/migrations");
    const files = readdirSync(migrations)
      .filter((name) => name.endsWith(".sql"))
      .sort();
    expect(files).toHaveLength(2);
    const text = readFileSync(join(migrations, files.at(-1) ?? ""), "utf8");
    expect(text).toContain(`--   ${line}`);
    expect(text.split("\n").filter((one) => one !== "" && !one.startsWith("--"))).toEqual([]);
  },
);
