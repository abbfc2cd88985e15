/** "Checks in CI" of docs/push.md: the steps of both samples run as in a pipeline, with keys that have the page's scopes. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { makeProject, ROOT, runCommand, schemaText } from "../support/command.ts";
import { freshName } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { readBlocks } from "./blocks.ts";

const blocks = readBlocks(readFileSync(join(ROOT, "docs/push.md"), "utf8"));
const [github, gitlab] = blocks
  .filter(({ language }) => language === "yaml")
  .map(({ code }) => Bun.YAML.parse(code));

const Texts = v.array(v.string());
const Step = v.object({
  run: v.optional(v.string()),
  env: v.optional(v.record(v.string(), v.string())),
});
const Job = v.object({ steps: v.array(Step) });
const Workflow = v.object({ jobs: v.object({ check: Job, push: Job }) });
const Script = v.object({ script: Texts });
const Pipeline = v.object({ before_script: Texts, check: Script, push: Script });

type Command = { run: string; env: Readonly<Record<string, string>> };

/** Returns the commands of a job. A key's value is an expression with the name of its secret. */
function toGithubCommands(name: "check" | "push"): Command[] {
  const { steps } = v.parse(Workflow, github).jobs[name];
  return steps.flatMap(({ run, env = {} }) => (run === undefined ? [] : [{ run, env }]));
}

/** Returns the commands of a GitLab job, which gets the variables of its environment. */
function toGitlabCommands(name: "check" | "push"): Command[] {
  const { before_script: before, ...jobs } = v.parse(Pipeline, gitlab);
  const toSecret = (secret: string) => `\${{ secrets.${secret} }}`;
  const env = {
    ROWHOUSE_API_KEY_STAGING: toSecret("STAGING_SCHEMA_READ"),
    ROWHOUSE_API_KEY_PRODUCTION: toSecret(`PRODUCTION_SCHEMA_${name === "push" ? "PUSH" : "READ"}`),
  };
  return [...before, ...jobs[name].script].map((run) => ({ run, env }));
}

const service = await share(openTestService());

/** Issues both keys of an app with the page's commands. */
async function issueKeys(app: TestApp): Promise<{ read: string; push: string }> {
  const [commands] = blocks.filter(({ code }) => code.includes("issue-key"));
  const lines = (commands?.code ?? "").trim().replaceAll(" wiki ", ` ${app.slug} `).split("\n");
  const keys: string[] = [];
  for (const line of lines) {
    const { out } = await runCommand(line.split(" ").slice(1), {
      folder: ROOT,
      env: { ADMIN_DATABASE_URL: service.database.adminUrl },
    });
    keys.push(out.trim());
    service.secrets.add(out.trim());
  }
  const [read = "", push = ""] = keys;
  return { read, push };
}

/** Creates a repository with two environments, each an app of the same service. */
async function openRepository() {
  const name = freshName();
  const repository = makeProject({
    "package.json": JSON.stringify({ name: "wiki", private: true }),
    "rowhouse.json": JSON.stringify({
      environments: { staging: service.url, production: service.url },
    }),
  });
  const writeSchema = (columns: string) =>
    repository.write("schema/mod.ts", schemaText(`{ ${name}: { ${columns} } }`));
  mkdirSync(join(repository.folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(
    join(ROOT, "src/cli/entry.js"),
    join(repository.folder, "node_modules/.bin/rowhouse"),
  );
  const [staging, production] = [await service.makeApp(), await service.makeApp()];
  const [stagingKeys, productionKeys] = [await issueKeys(staging), await issueKeys(production)];
  const secrets: Readonly<Record<string, string>> = {
    STAGING_SCHEMA_READ: stagingKeys.read,
    PRODUCTION_SCHEMA_READ: productionKeys.read,
    PRODUCTION_SCHEMA_PUSH: productionKeys.push,
  };
  /** Runs commands until one fails. Returns its exit code and the output of all commands. */
  const runJob = async (commands: readonly Command[]) => {
    let printed = "";
    for (const { run, env } of commands) {
      const values = Object.entries(env).map(([key, value]) => {
        const [, secret = ""] = /^\$\{\{ secrets\.(\w+) \}\}$/.exec(value) ?? [];
        return [key, secrets[secret] ?? ""];
      });
      const { PATH = "", HOME = "" } = process.env;
      const child = Bun.spawn(["sh", "-ec", `${run} 2>&1`], {
        cwd: repository.folder,
        env: { PATH: `${PATH}:${BIN}`, HOME, CI: "true", ...Object.fromEntries(values) },
        stdin: "ignore",
      });
      printed += `$ ${run}\n${await new Response(child.stdout).text()}`;
      const exitCode = await child.exited;
      if (exitCode !== 0) return { code: exitCode, printed };
    }
    return { code: 0, printed };
  };
  const pushToStaging = () =>
    runCommand(["db", "push", "--to", "staging"], {
      folder: repository.folder,
      env: { ROWHOUSE_API_KEY_STAGING: stagingKeys.push },
    });
  return { ...repository, name, writeSchema, runJob, pushToStaging };
}

const BIN = join(process.execPath, "..");

describe.each([
  { name: "GitHub Actions", toCommands: toGithubCommands },
  { name: "GitLab", toCommands: toGitlabCommands },
])("the sample for $name", ({ toCommands }) => {
  test("checks a pull request, pushes after the merge, and fails in each documented case", async () => {
    const repository = await openRepository();
    const { name, folder, runJob, writeSchema, pushToStaging } = repository;
    const check = toCommands("check");

    writeSchema("title: t.string()");
    const unpushed = await runJob(check);
    expect(unpushed).toMatchObject({ code: 3 });
    expect(unpushed.printed).toContain(`Would apply 0001_create_table_${name}`);

    expect((await pushToStaging()).code).toBe(0);
    const pushed = await runJob(check);
    expect(pushed).toMatchObject({ code: 0 });
    expect(pushed.printed).toMatch(
      /^\$ bunx rowhouse db plan --to production\nDestination: production .*\nWould apply 0001_/m,
    );

    // The sample pushes with its own key. The key for checks cannot push.
    const read = check.find(({ env }) => "ROWHOUSE_API_KEY_PRODUCTION" in env)?.env ?? {};
    const denied = await runJob(toCommands("push").map((command) => ({ ...command, env: read })));
    expect(denied).toMatchObject({ code: 1 });
    expect(denied.printed).toContain("This key lacks the scope schema:push");
    const merged = await runJob(toCommands("push"));
    expect(merged).toMatchObject({ code: 0 });
    expect(merged.printed).toContain(`Applied 0001_create_table_${name}`);

    const file = join(folder, `schema/migrations/0001_create_table_${name}.sql`);
    const text = readFileSync(file, "utf8");
    repository.write(`schema/migrations/0001_create_table_${name}.sql`, `${text}-- more\n`);
    const edited = await runJob(check);
    expect(edited).toMatchObject({ code: 1 });
    expect(edited.printed).toContain("was edited after it was applied");
    rmSync(file);
    const missing = await runJob(check);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.printed).toContain(
      `Migrations are missing: schema/migrations/0001_create_table_${name}.sql. Run rowhouse db pull`,
    );
    repository.remove();
  }, 180_000);
});
