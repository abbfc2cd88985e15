/** Where a command goes: what it says first, what it asks on a terminal, and what it rejects without one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeProject, runHere, schemaText, showHere, startOnTerminal } from "../support/command.ts";
import { freshName } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let table: string;
let project: ReturnType<typeof makeProject>;
const service = await share(openTestService());
const app = await service.makeApp();
beforeEach(async () => {
  table = freshName();
  project = makeProject({ "schema/mod.ts": schemaText(`{ ${table}: { title: t.string() } }`) });
});
afterEach(() => project.remove());

const AWAY = "http://127.0.0.1:1";
const writeEnvironments = (environments: object) =>
  project.write("rowhouse.json", JSON.stringify({ environments }));
const byVariables = () => ({ ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key });
const show = (words: readonly string[], env: Record<string, string> = {}) =>
  showHere(words, { ...project, env });
const start = (words: string[], env: Record<string, string>) =>
  startOnTerminal(words, { ...project, env: { ...env, NO_COLOR: "1" } });
const hasMigrations = () => existsSync(join(project.folder, "schema/migrations"));

describe("a command first says where it goes", () => {
  test("by an environment, by the variables and by --app", async () => {
    writeEnvironments({ staging: service.url });
    const env = { ROWHOUSE_API_KEY_STAGING: app.key };
    const named = await show(["db", "push", "--to", "staging", "--json"], env);
    expect(named).toMatchObject({ code: 0, err: `Destination: staging (${service.url})\n` });
    expect(JSON.parse(named.out)).toMatchObject({ status: "applied" });

    const set = await show(["db", "plan"], byVariables());
    expect(set).toMatchObject({ code: 0, err: `Destination: staging (${service.url})\n` });
    project.write("rowhouse.json", "{}");
    const other = await show(["data", "export", table], byVariables());
    expect(other).toMatchObject({ code: 0, err: `Destination: ${service.url}\n` });

    const { adminUrl } = service.database;
    const operator = { ADMIN_DATABASE_URL: adminUrl };
    const direct = await show(["db", "status", "--app", app.slug], operator);
    const { host, pathname, password } = new URL(adminUrl);
    expect(direct.err).toBe(
      `Destination: app ${app.slug} of the database ${pathname.slice(1)} at ${host} (ADMIN_DATABASE_URL)\n`,
    );
    expect(password === "" || !direct.err.includes(password)).toBe(true);
  });

  test.each(["admin list-apps", "admin list-keys nobody", "migrate --dry-run", "doctor"])(
    "by the administrator's address: %s",
    async (words) => {
      const address = new URL(service.database.adminUrl);
      address.password = "secret-of-the-administrator";
      const { err } = await show(words.split(" "), { ADMIN_DATABASE_URL: address.href });
      expect(err).toStartWith(
        `Destination: the database ${address.pathname.slice(1)} at ${address.host} (ADMIN_DATABASE_URL)\n`,
      );
      expect(err).not.toContain(address.password);
    },
  );

  test("by --to all, and before it fails", async () => {
    writeEnvironments({ staging: AWAY, production: AWAY });
    const all = await show(["db", "status", "--to", "all"]);
    expect(all.err).toStartWith(`Destinations: staging (${AWAY}), production (${AWAY})\n`);
    const failed = await show(["db", "plan", "--to", "staging"], { ROWHOUSE_API_KEY_STAGING: "x" });
    expect(failed.err).toStartWith(`Destination: staging (${AWAY})\nNo response from ${AWAY}`);
  });
});

const COMMANDS = [
  ...["db push", "db plan", "db check", "db status", "db pull", "db resolve", "db rename a b"],
  ...["db drop a", "db drop-value a.b c", "db retype a.b number", "data export a"],
  ...["data import a b.csv"],
];

describe.each(COMMANDS)("rowhouse %s", (command) => {
  const words = command.split(" ");

  test("names the environments without a terminal", async () => {
    project.write("b.csv", "title\n");
    writeEnvironments({ staging: AWAY, production: AWAY });
    const { code, out, err } = await runHere(words, project);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("Select an environment with --to: rowhouse.json has staging, production");
  });

  test("says that dev does not run", async () => {
    project.write("b.csv", "title\n");
    const { code, err } = await runHere([...words, "--to", "dev"], project);
    expect([code, err]).toEqual([
      69,
      "rowhouse dev does not run in this folder: start rowhouse dev\n",
    ]);
  });
});

test("without a terminal the variables select a service, but not for an explicit change", async () => {
  writeEnvironments({ staging: AWAY });
  expect(await show(["db", "push"], byVariables())).toMatchObject({
    code: 0,
    err: `Destination: ${service.url}\n`,
  });
  const drop = await show(["db", "drop", `${table}.title`, "--yes"], byVariables());
  expect([drop.code, drop.err.includes("--to")]).toEqual([2, true]);
});

describe("on a terminal", () => {
  const QUESTION = /Which destination: staging, production\?/;
  const both = () => ({ ROWHOUSE_API_KEY_STAGING: app.key, ROWHOUSE_API_KEY_PRODUCTION: "x" });
  beforeEach(() => writeEnvironments({ staging: service.url, production: AWAY }));

  test("the environment that the person names gets the push", async () => {
    const push = start(["db", "push"], both());
    await push.until(QUESTION);
    push.type("staging\n");
    expect(await push.ended).toBe(0);
    expect(push.output()).toContain(`Destination: staging (${service.url})`);
    expect(hasMigrations()).toBe(true);
  });

  test("no environment is the default, and no other name is accepted", async () => {
    for (const [reply, code] of [
      ["", 1],
      ["prod", 2],
    ] as const) {
      const push = start(["db", "push"], both());
      await push.until(QUESTION);
      push.type(`${reply}\n`);
      expect(await push.ended).toBe(code);
      expect(push.output()).not.toContain("Destination:");
    }
    expect(hasMigrations()).toBe(false);
  });

  test("the service of the variables is one of the choices", async () => {
    writeEnvironments({ production: AWAY });
    const push = start(["db", "push"], byVariables());
    await push.until(/Which destination: production, http:\S+\?/);
    push.type(`${service.url}\n`);
    expect(await push.ended).toBe(0);
  });
});
