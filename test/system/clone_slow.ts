/** A teammate's clone: `npm ci` and `dev` on a machine that has nothing of the project, without flags. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { BIN, packAll, runTool } from "../support/packages.ts";

const LIMIT_MS = 180_000;
const HAS_NPM = ["node", "npm", "git"].every((name) => Bun.which(name) !== null);
const INSTALL = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"];
const BUN = [join(BIN, "bun")];
const WAYS = [
  { way: "npm", add: INSTALL, run: ["npx"], again: ["npm", "ci", "--prefer-offline"] },
  {
    way: "Bun",
    add: [...BUN, "add"],
    run: [...BUN, "x"],
    again: [...BUN, "install", "--frozen-lockfile"],
  },
];

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rowhouse-clone-"));
  tarball = (await packAll(folder)).rowhouse;
}, LIMIT_MS);
afterAll(() => rm(folder, { recursive: true }));

test.skipIf(!HAS_NPM).each(WAYS)(
  "serves the same app with $way",
  async ({ way, add, run, again }) => {
    const project = join(folder, way, "wiki");
    const file = `vendor/${basename(tarball)}`;
    await mkdir(join(project, "vendor"), { recursive: true });
    await Bun.write(join(project, file), Bun.file(tarball));
    await Bun.write(join(project, "package.json"), '{ "name": "wiki", "type": "module" }');
    await runTool([...add, `./${file}`], project);
    await runTool([...run, "rowhouse", "init"], project);
    const commit = [
      ...["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "x"],
    ];
    for (const command of [["init", "-q"], ["add", "."], commit])
      await runTool(["git", ...command], project);

    const clone = join(folder, way, "Mate's copy");
    await runTool(["git", "clone", "-q", project, clone], folder);
    await runTool(again, clone);
    const dev = Bun.spawn([...run, "rowhouse", "dev", "--port", "0"], {
      cwd: clone,
      env: { HOME: folder, PATH: `${BIN}:${process.env["PATH"]}` },
      stdio: ["ignore", Bun.file(join(folder, way, "log")), "inherit"],
    });
    const read = () => Bun.file(join(folder, way, "log")).text();
    let output = "";
    await eventually(
      async () => {
        output = await read();
        return output.includes("Ctrl-C stops everything") || dev.exitCode !== null;
      },
      { describe: () => output },
    );
    expect(output).toContain("(app wiki)");
    expect(output).toContain("create table wiki_notes");
    dev.kill("SIGTERM");
    await dev.exited;
    // Nothing of dev reaches the migrations, and no file of the project changes.
    const changed = await runTool(["git", "status", "--porcelain"], clone);
    expect(changed).toBe("?? .rowhouse/types.d.ts\n");
  },
  LIMIT_MS,
);
