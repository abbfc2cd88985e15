/** `bun run example`: one command starts each example, with `rowhouse dev`, and ends both. */
import { describe, expect, test } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { findPython } from "../contract/python.ts";
import { makeProject, ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { isFull } from "../support/tier.ts";
import { copyExample, REQUIREMENTS } from "./project.ts";

/** Installed packages: only the full run installs those of Python again, for a minute. */
const python = await findPython(REQUIREMENTS);

const EXAMPLES = [
  {
    readme: "examples/node/README.md",
    check: async (url: string) => {
      expect((await fetch(`${url}/api/todos`)).status).toBe(401);
      expect(await (await fetch(url)).text()).toContain('<script type="module"');
    },
  },
  {
    readme: "examples/python/README.md",
    check: async (url: string) => {
      const { status, headers } = await fetch(url, { redirect: "manual" });
      expect([status, headers.get("location")]).toEqual([
        307,
        expect.stringContaining("/authorize?app=wiki&redirect_uri="),
      ]);
    },
  },
  {
    readme: "examples/board/README.md",
    check: async (url: string) => {
      expect(await (await fetch(url)).text()).toContain("/src/main.tsx");
      expect((await fetch(`${url}/src/main.tsx`)).status).toBe(200);
    },
  },
];

describe.each(EXAMPLES)("$readme", ({ readme, check }) => {
  test("its command starts the example", async () => {
    const [, name = ""] = readme.split("/");
    expect(readFileSync(join(ROOT, readme), "utf8")).toContain(`\nbun run example ${name}\n`);
    // A checkout, in which a developer's example can run meanwhile.
    using project = makeProject();
    for (const path of ["node_modules", "src", "tsconfig.json"])
      symlinkSync(join(ROOT, path), join(project.folder, path));
    const folder = join(project.folder, "examples", name);
    copyExample(name, folder);
    if (name === "python" && !isFull() && "programs" in python)
      symlinkSync(dirname(python.programs), join(folder, ".venv"));
    const [port, appPort] = [await findFreePort(), await findFreePort()];
    const child = Bun.spawn([process.execPath, join(ROOT, "tools/example.ts"), folder], {
      env: { ...process.env, PORT: `${port}`, APP_PORT: `${appPort}` },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    void child.stdout.pipeTo(
      new WritableStream({
        write: (chunk) => {
          printed += new TextDecoder().decode(chunk);
        },
      }),
    );
    const url = `http://127.0.0.1:${appPort}`;
    const isServed = async () => (await fetch(url).catch(() => undefined)) !== undefined;
    await eventually(isServed, { patienceMs: 240_000, describe: () => printed });
    await check(url);
    expect(printed).toContain(
      `Open http://${name === "board" ? "board" : "wiki"}.rowhouse.localhost:`,
    );
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await isServed()).toBe(false);
    expect(await fetch(`http://127.0.0.1:${port}`).catch(() => undefined)).toBeUndefined();
  }, 300_000);
});
