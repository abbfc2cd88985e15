/** What `rowhouse dev` reads from `rowhouse.json`: the app, in a folder of any name, its port and previews. */
import { afterEach, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { makeProject, type Running, schemaText, startCommand } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";

const LIMIT_MS = 120_000;
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

async function startDev(folder: string, ...flags: string[]) {
  const dev = startCommand(["dev", ...flags], { folder });
  running.push(dev);
  await dev.until(/Ctrl-C stops everything/);
  const file: { app: string; apiKey: string; baseUrl: string } = JSON.parse(
    readFileSync(join(folder, ".rowhouse/dev.json"), "utf8"),
  );
  const call = async (init?: RequestInit) =>
    (await (
      await fetch(`${file.baseUrl}/v1/data/db/notes`, {
        ...init,
        headers: { authorization: `Bearer ${file.apiKey}`, "content-type": "application/json" },
      })
    ).json()) as { rows: { title: string }[] };
  return {
    ...file,
    output: dev.output,
    create: (title: string) => call({ method: "POST", body: JSON.stringify({ title }) }),
    list: async () => (await call()).rows.map(({ title }) => title),
    stop: () => dev.kill("SIGINT"),
  };
}

test(
  "the file names the app, the port and the previews, and a flag wins",
  async () => {
    const port = await findFreePort();
    const project = makeNotes({ app: "wiki", port, previews: ["filters"] });
    const dev = await startDev(project.folder);
    expect(dev).toMatchObject({ app: "wiki", baseUrl: `http://localhost:${port}` });
    const url = `${dev.baseUrl}/v1/data/db/notes?order=title.desc`;
    const headers = { authorization: `Bearer ${dev.apiKey}` };
    expect((await fetch(url, { headers })).status).toBe(200);
    expect(await dev.stop()).toBe(0);

    const flags = ["--port", "0", "--app", "other", "--preview", "live"];
    const other = await startDev(project.folder, ...flags);
    expect(other.app).toBe("other");
    expect(other.baseUrl).not.toBe(dev.baseUrl);
    const sorted = await fetch(`${other.baseUrl}/v1/data/db/notes?order=title.desc`, {
      headers: { authorization: `Bearer ${other.apiKey}` },
    });
    expect(sorted.status).toBe(400);
    expect(await other.stop()).toBe(0);
    // The flag was for one run.
    expect((await startDev(project.folder, "--port", "0")).app).toBe("wiki");
  },
  LIMIT_MS,
);

test(
  "a project that gets a name keeps its app with rows and key, and another app's rows stay",
  async () => {
    const project = makeNotes();
    const before = await startDev(project.folder, "--port", "0");
    expect(before.app).toBe(basename(project.folder).toLowerCase());
    await before.create("kept");
    await before.stop();

    project.write("rowhouse.json", JSON.stringify({ app: "wiki" }));
    const after = await startDev(project.folder, "--port", "0");
    expect(after.output()).toContain(`Renamed the app ${before.app} to wiki`);
    expect(after).toMatchObject({ app: "wiki", apiKey: before.apiKey });
    await after.stop();

    rmSync(join(project.folder, "rowhouse.json"));
    await (await startDev(project.folder, "--port", "0", "--app", "side")).stop();
    project.write("rowhouse.json", JSON.stringify({ app: "wiki" }));
    const again = await startDev(project.folder, "--port", "0");
    expect(again.output()).toContain("rowhouse dev --app side");
    expect(await again.list()).toEqual(["kept"]);
    await again.stop();

    const clone = { folder: `${project.folder}-mate` };
    cpSync(project.folder, clone.folder, {
      recursive: true,
      filter: (path) => !path.includes(".rowhouse"),
    });
    const cloned = await startDev(clone.folder, "--port", "0");
    expect(cloned).toMatchObject({ app: "wiki" });
    expect(cloned.output()).not.toContain("Renamed");
    await cloned.stop();
    rmSync(clone.folder, { recursive: true });
  },
  LIMIT_MS,
);
