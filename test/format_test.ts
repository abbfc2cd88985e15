/** Files of other versions of Rowhouse: older formats are read, newer ones are rejected before anything changes. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSecrets } from "../src/cli/dev/secrets.ts";
import { describeUnreadable, FORMATS, type FormatName } from "../src/format.ts";
import { defineSchema, t } from "../src/schema/mod.ts";
import { VERSION } from "../src/std/version.ts";
import { findApp, forge, makeArchivedApp, makeNames, openArchives } from "./support/archives.ts";
import { makeProject, type Outcome, runHere, schemaText } from "./support/command.ts";
import { makeHistory, postMigrations } from "./support/history.ts";
import { freshName } from "./support/push.ts";
import { share } from "./support/share.ts";

const archives = await share(openArchives());

/** Names a version of the format, as a later release writes it: by default, the next one. */
const toNewer = (
  format: FormatName,
  file: object,
  version: unknown = FORMATS[format].current + 1,
) => ({ ...file, version, rowhouse: "9.1.0" });
const rejection = (format: FormatName, version?: unknown): string =>
  describeUnreadable(format, toNewer(format, {}, version)) ?? "not rejected";
const toJson = (value: object) => `${JSON.stringify(value)}\n`;

/** The first line of a migration, as a later release writes it. */
const toNewerMigration = (text: string, version: unknown = FORMATS.migration.current + 1) =>
  text.replace("\n", `, version ${version} (rowhouse 9.1.0)\n`);

/** A command that reads a newer file, and what must stay as it was. */
type Reading = Outcome & { isUnchanged: boolean };

async function runInProject(words: string[], files: Record<string, string>): Promise<Reading> {
  const app = await archives.here.service.makeApp();
  using project = makeProject({
    "schema/mod.ts": schemaText(`{ ${freshName()}: { title: t.string() } }`),
    ...files,
  });
  const env = { ROWHOUSE_URL: archives.here.service.url, ROWHOUSE_API_KEY: app.key };
  const list = () => readdirSync(project.folder, { recursive: true }).sort();
  const before = list();
  const outcome = await runHere(words, { ...project, env });
  const pushed = await archives.here.service.call(app, "/v1/data/schema");
  const { migrations } = pushed.json as { migrations: unknown[] };
  const isUnchanged = migrations.length === 0 && list().join() === before.join();
  return { ...outcome, isUnchanged };
}

const READ_NEWER: Record<FormatName, (version?: unknown) => Promise<Reading>> = {
  archive: async (version) => {
    const { here, there, makeFile } = archives;
    const app = await makeArchivedApp(here, makeNames());
    const [file, newer] = [makeFile(), makeFile()];
    await here.run("export-app", app.slug, file);
    const [first = "", ...rest] = readFileSync(file, "utf8").split("\n");
    writeFileSync(
      newer,
      [JSON.stringify(toNewer("archive", JSON.parse(first), version)), ...rest].join("\n"),
    );
    const outcome = await there.run("import-app", newer);
    return { ...outcome, isUnchanged: (await findApp(there, app.slug)) === undefined };
  },
  project: (version) =>
    runInProject(["db", "push"], {
      "rowhouse.json": toJson(toNewer("project", { envs: [] }, version)),
    }),
  migration: (version) => {
    const [text = ""] = makeHistory([defineSchema({ [freshName()]: { title: t.string() } })]);
    return runInProject(["db", "push"], {
      "schema/migrations/0001_step_1.sql": toNewerMigration(text, version),
    });
  },
  dev: async (version) => {
    using project = makeProject();
    const file = join(project.folder, ".rowhouse/dev.json");
    project.write(".rowhouse/dev.json", "");
    writeFileSync(file, toJson(toNewer("dev", { addresses: [] }, version)));
    const before = readFileSync(file, "utf8");
    await Bun.spawn(["chmod", "600", file]).exited;
    const outcome = await runHere(["db", "push"], { folder: project.folder });
    const isUnchanged = readFileSync(file, "utf8") === before;
    return { ...outcome, isUnchanged };
  },
};

test.each(Object.entries(READ_NEWER))(
  "a newer %s is rejected with both versions, and nothing changes",
  async (format, read) => {
    const { code, err, isUnchanged } = await read();
    expect(err).toContain(rejection(format as FormatName));
    expect(err).toContain(`rowhouse ${VERSION} reads`);
    expect(err).toContain("install rowhouse 9.1.0 or newer");
    expect([code, isUnchanged]).toEqual([1, true]);
  },
);

const { migration: readMigration, ...READ_JSON } = READ_NEWER;
const NO_VERSIONS = [0, -1, 1.5, 1e9, null, "x", "2"];
test.each([
  ...Object.entries(READ_JSON).flatMap(([format, read]) =>
    NO_VERSIONS.map((version) => ({ format, read, version })),
  ),
  { format: "migration", read: readMigration, version: 0 },
])("$format: $version is no version, and nothing changes", async (called) => {
  const { format, read, version } = called;
  const { code, err, isUnchanged } = await read(version);
  expect(err).toContain(rejection(format as FormatName, version));
  expect(err).toContain("names no version of its format: version must be 1");
  expect(err).not.toContain("install");
  expect([code, isUnchanged]).toEqual([1, true]);
});

test.each([2, ...NO_VERSIONS])(
  "secrets of dev with version %p are rejected, and stay",
  (version) => {
    const text = toJson(toNewer("dev", { logins: [] }, version));
    using project = makeProject({ ".rowhouse/secrets.json": text });
    expect(() => openSecrets(project.folder)).toThrow(rejection("dev", version));
    expect(readFileSync(join(project.folder, ".rowhouse/secrets.json"), "utf8")).toBe(text);
  },
);

test("a service rejects a newer migration, and does not name its own version", async () => {
  const { service } = archives.here;
  const app = await service.makeApp();
  const schema = defineSchema({ [freshName()]: { title: t.string() } });
  const [migration = ""] = makeHistory([schema]);
  const { status, text: body } = await postMigrations(
    { service, app },
    [toNewerMigration(migration)],
    schema,
  );
  expect(status).toBe(422);
  expect(body).toContain("it has version 3 of its format, but this service reads versions 1 to 2");
  expect(body).not.toContain(VERSION);
});

describe("files without a version are read as version 1", () => {
  test("rowhouse.json, and with version 1", async () => {
    for (const more of [{}, { version: 1 }, { version: 1, rowhouse: "0.0.9" }]) {
      const text = toJson({ environments: {}, ...more });
      expect(await runInProject(["db", "push"], { "rowhouse.json": text })).toMatchObject({
        code: 0,
      });
    }
    const text = toJson({ environments: {}, version: 1, rowhouse: "rm -rf" });
    expect(await runInProject(["db", "push"], { "rowhouse.json": text })).toMatchObject({
      code: 1,
      err: expect.stringContaining(`/rowhouse: must be a version such as ${VERSION}`),
    });
  });

  test("secrets of dev", () => {
    const secrets = {
      loginPassword: "a",
      pushPassword: "b",
      consolePassword: "c",
      identitySecret: "d",
    };
    using project = makeProject({ ".rowhouse/secrets.json": toJson(secrets) });
    expect(openSecrets(project.folder)).toEqual(secrets);
  });

  test("new secrets of dev name the version", () => {
    using project = makeProject();
    const file = join(project.folder, ".rowhouse/secrets.json");
    expect(existsSync(file)).toBe(false);
    openSecrets(project.folder);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: 1, rowhouse: VERSION });
  });
});

describe("an archive", () => {
  test("names the version of its format and of Rowhouse", async () => {
    const { here, makeFile } = archives;
    const app = await here.service.makeApp();
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    expect(JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "")).toMatchObject({
      format: "rowhouse app archive",
      version: 2,
      rowhouse: VERSION,
    });
  });

  test("of version 1 is imported with its settings", async () => {
    const { here, there, makeFile } = archives;
    const app = await makeArchivedApp(here, makeNames());
    const [file, first] = [makeFile(), makeFile()];
    await here.run("export-app", app.slug, file);
    const toFirst = (line: string) => {
      const { limits, on, rowhouse: _, ...header } = JSON.parse(line);
      const settings = { ...limits, isLive: on.includes("live"), listsPeople: true };
      return JSON.stringify({ ...header, version: 1, settings });
    };
    const text = forge(readFileSync(file, "utf8"), (line) =>
      line.startsWith('{"format"') ? toFirst(line) : line,
    );
    writeFileSync(first, text);
    const { code, err } = await there.run("import-app", first);
    expect(err).toContain("people-list on");
    expect([code, await findApp(there, app.slug)]).toEqual([0, expect.any(String)]);
  });
});
