/** What `rowhouse dev` reads from `rowhouse.json`: the app, in a folder of any name, its port and previews. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { makeProject, type Running, schemaText, startCommand } from "../support/command.ts";
import { callDev, DEV_READY, readDev } from "../support/dev.ts";
import { findFreePort } from "../support/free_port.ts";

setDefaultTimeout(120_000);
const projects: ReturnType<typeof makeProject>[] = [];
let running: Running[] = [];
afterEach(async () => {
  for (const dev of running) await dev.kill("SIGKILL");
  running = [];
  for (const project of projects.splice(0)) project.remove();
});

function makeNotes(file?: object) {
  const project = makeProject({
    "schema/mod.ts": schemaText("{ notes: { title: t.string() } }"),
    ...(file === undefined ? {} : { "rowhouse.json": JSON.stringify(file) }),
  });
  projects.push(project);
  return project;
}

async function start(folder: string, ...flags: string[]) {
  const dev = startCommand(["dev", ...flags], { folder });
  running.push(dev);
  await dev.until(DEV_READY);
  return { ...readDev(folder), output: dev.output, stop: () => dev.kill("SIGINT") };
}
const PATH = "/v1/data/db/notes";
const SORTED = `${PATH}?order=title.desc`;

test("the file names the app, the port and the previews, and a flag wins", async () => {
  const port = await findFreePort();
  const project = makeNotes({ app: "wiki", port, previews: ["filters"] });
  const dev = await start(project.folder);
  expect(dev).toMatchObject({ app: "wiki", baseUrl: `http://localhost:${port}` });
  expect((await callDev(project.folder, SORTED)).status).toBe(200);
  expect(await dev.stop()).toBe(0);

  const flags = ["--port", "0", "--app", "other", "--preview", "live"];
  const other = await start(project.folder, ...flags);
  expect(other.app).toBe("other");
  expect(other.baseUrl).not.toBe(dev.baseUrl);
  expect((await callDev(project.folder, SORTED)).status).toBe(400);
  expect(await other.stop()).toBe(0);
  // The flag was for one run.
  expect((await start(project.folder, "--port", "0")).app).toBe("wiki");
});

test("a project that gets a name keeps its app with rows and key, and another app's rows stay", async () => {
  const project = makeNotes();
  const before = await start(project.folder, "--port", "0");
  expect(before.app).toBe(basename(project.folder).toLowerCase());
  await callDev(project.folder, PATH, { title: "kept" });
  await before.stop();

  project.write("rowhouse.json", JSON.stringify({ app: "wiki" }));
  const after = await start(project.folder, "--port", "0");
  expect(after.output()).toContain(`Renamed the app ${before.app} to wiki`);
  expect(after).toMatchObject({ app: "wiki", apiKey: before.apiKey });
  await after.stop();

  rmSync(join(project.folder, "rowhouse.json"));
  await (await start(project.folder, "--port", "0", "--app", "side")).stop();
  project.write("rowhouse.json", JSON.stringify({ app: "wiki" }));
  const again = await start(project.folder, "--port", "0");
  expect(again.output()).toContain("rowhouse dev --app side");
  expect((await callDev(project.folder, PATH)).json).toMatchObject({ rows: [{ title: "kept" }] });
  await again.stop();

  const clone = { folder: `${project.folder}-mate` };
  cpSync(project.folder, clone.folder, {
    recursive: true,
    filter: (path) => !path.includes(".rowhouse"),
  });
  const cloned = await start(clone.folder, "--port", "0");
  expect(cloned).toMatchObject({ app: "wiki" });
  expect(cloned.output()).not.toContain("Renamed");
  await cloned.stop();
  rmSync(clone.folder, { recursive: true });
});
