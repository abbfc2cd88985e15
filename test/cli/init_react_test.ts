/** `rowhouse init --react`, and what `rowhouse dev` says when a schema gets rules. The whole path: test/browser/board_browser.ts. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { checkNeeds } from "../../src/cli/dev/projects.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere } from "../support/command.ts";
import { definitionOf } from "../support/service.ts";

let project = makeProject();
afterEach(() => {
  project.remove();
  project = makeProject();
});
const init = (...flags: string[]) => runHere(["init", "--no-install", ...flags], project);

test("writes a page and rules, with the names of the project, and names what production needs", async () => {
  const { code, out } = await init("--react");
  expect(code).toBe(0);
  expect(out).toContain("Production needs PREVIEW=browser");
  expect(out).toMatch(/rowhouse admin set-app [a-z0-9-]+ browser on/);
  expect(readdirSync(join(project.folder, "src")).toSorted()).toEqual([
    "main.tsx",
    "settings.ts",
    "style.css",
  ]);
  const files = ["schema/mod.ts", "src/main.tsx", "src/settings.ts"];
  const texts = await Promise.all(files.map((path) => Bun.file(join(project.folder, path)).text()));
  const [, table = ""] = /(\w+_cards)/.exec(texts[0] ?? "") ?? [];
  expect(texts[1]).toContain(`app.db.${table}`);
  const others = ["index.html", "vite.config.ts"];
  const pages = await Promise.all(
    others.map((path) => Bun.file(join(project.folder, path)).text()),
  );
  expect([...texts, ...pages].join()).not.toMatch(/"board"|board_|>Board<|of the repository/);
  const rowhouse = await Bun.file(join(project.folder, "rowhouse.json")).json();
  expect(pages[1]).toContain("strictPort");
  expect(pages[1]).toMatch(new RegExp(`//${rowhouse.app}\\.rowhouse\\.localhost:5173/`));
  expect(rowhouse).toMatchObject({ previews: ["browser", "live"], environments: {} });
  const { scripts, devDependencies } = await Bun.file(join(project.folder, "package.json")).json();
  expect(scripts).toMatchObject({ dev: "rowhouse dev", web: "vite", build: "vite build" });
  expect(Object.keys(devDependencies)).toContain("react-dom");
});

test.each(["schema", ".rowhouse", "src"])(
  "writes nothing if %s is a link that leads out of the project",
  async (name) => {
    using outside = makeProject();
    symlinkSync(outside.folder, join(project.folder, name));
    const { code, err } = await init("--react");
    expect([code, err]).toEqual([1, expect.stringContaining(`${name} is a link that leads out`)]);
    expect(readdirSync(outside.folder)).toEqual([]);
    expect(readdirSync(project.folder)).toEqual([name]);
    rmSync(join(project.folder, name));
    mkdirSync(join(project.folder, "inside"));
    symlinkSync("inside", join(project.folder, name));
    expect((await init("--react")).code).toBe(0);
  },
);

test.each([
  [["--react", "--template", "todo"], "--template"],
  [["--react", "--push-only"], "--push-only"],
])("rejects %j", async (flags, named) => {
  const { code, err } = await init(...flags);
  expect(code).toBe(2);
  expect(err).toContain(named);
  expect(readdirSync(project.folder)).not.toContain("schema");
});

test("rules that a running dev gets need a new start", () => {
  const todos = t.model({ title: t.string() });
  const plain = definitionOf(defineSchema({ todos }));
  const ruled = definitionOf(defineSchema({ todos: todos.allow("member", { read: true }) }));
  expect(() => checkNeeds(plain, [])).not.toThrow();
  expect(() => checkNeeds(ruled, ["browser"])).not.toThrow();
  expect(() => checkNeeds(ruled, ["filters"])).toThrow("PREVIEW=browser");
});
