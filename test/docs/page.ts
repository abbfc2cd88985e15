/** A page, done by a reader: its blocks in their order, in one folder and one shell. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeProject, ROOT } from "../support/command.ts";
import { type Block, readBlocks } from "./blocks.ts";
import { findDifference } from "./expected.ts";
import { openShell, type Ran, type Shell } from "./shell.ts";

/** What a page finds when it begins. */
export type Setting = {
  readonly env?: Readonly<Record<string, string>>;
  /** What the page shows, and what stands for it here: an address, a key. */
  readonly replace?: Readonly<Record<string, string>>;
  readonly close?: () => Promise<void>;
};

type Reader = {
  folder: string;
  shell: Shell;
  replace: (text: string) => string;
  /** What the block before has said. */
  said: string;
};

/** Registers a test for each block of a page. */
export function describePage(page: string, open: (folder: string) => Promise<Setting>): void {
  const blocks = readBlocks(readFileSync(join(ROOT, page), "utf8"));
  describe(page, () => {
    const project = makeProject(projectFiles());
    let setting: Setting = {};
    let reader: Reader;
    beforeAll(async () => {
      symlinkSync(join(ROOT, "node_modules"), join(project.folder, "node_modules"));
      setting = await open(project.folder);
      reader = openReader(project.folder, setting);
    }, 60_000);
    afterAll(async () => {
      await reader?.shell.close();
      await setting.close?.();
      project.remove();
    }, 60_000);

    test.each(blocks.map((block) => ({ ...block, begin: block.code.split("\n")[0] })))(
      "line $line: $begin",
      async (block) => await doBlock(block, reader),
      120_000,
    );
    test("its TypeScript compiles", () => {
      if (!blocks.some(({ language }) => language === "ts")) return;
      const tsc = join(ROOT, "node_modules/.bin/tsc");
      const { stdout } = Bun.spawnSync([tsc, "--noEmit"], { cwd: project.folder });
      expect(stdout.toString()).toBe("");
    });
  });
}

/** What `rowhouse init` would have made of the folder, with the sources of this repository as the package. */
function projectFiles(): Record<string, string> {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
  const names = Object.entries(compilerOptions.paths as Record<string, string[]>);
  const paths = Object.fromEntries(
    names.map(([name, [path = ""]]) => [name, [join(ROOT, path)]] as const),
  );
  const strict = { ...compilerOptions, paths, noUnusedLocals: false, noUnusedParameters: false };
  return {
    "tsconfig.json": JSON.stringify({
      compilerOptions: strict,
      include: ["**/*.ts", ".rowhouse/*.d.ts"],
    }),
    "package.json": JSON.stringify({ name: "wiki", type: "module" }),
    ".bin/rowhouse": `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/src/bin/rowhouse.ts' "$@"\n`,
  };
}

/** The shell of a page's folder, in which `rowhouse` is the command of this repository. */
export function openPageShell(folder: string, env: Readonly<Record<string, string>>): Shell {
  const bin = join(folder, ".bin");
  chmodSync(join(bin, "rowhouse"), 0o755);
  const path = `${bin}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  return openShell({ folder, state: join(folder, ".state"), env: { PATH: path, ...env } });
}

function openReader(folder: string, { env = {}, replace = {} }: Setting): Reader {
  return {
    folder,
    shell: openPageShell(folder, env),
    replace: (text) =>
      Object.entries(replace).reduce((made, [shown, real]) => made.replaceAll(shown, real), text),
    said: "",
  };
}

async function doBlock(block: Block, reader: Reader): Promise<void> {
  const { mark, language } = block;
  const code = reader.replace(block.code);
  if (mark?.word === "not run" || mark?.word === "run by") return;
  if (mark?.word === "file") return writeFile(reader.folder, mark.text, code);
  if (language === "sh") return note(reader, block, await runCommands(reader, code, block));
  if (language === "ts") return await doTypescript(block, code, reader);
  if (["text", "json"].includes(language))
    return expect(findDifference(code, reader.said)).toBeUndefined();
  throw new Error(`Nothing is done with a block in ${language}: say in a comment why not`);
}

async function runCommands({ shell }: Reader, code: string, { mark }: Block): Promise<Ran> {
  return mark?.word === "keeps running"
    ? await shell.start(code, mark.text)
    : await shell.run(code);
}

/** A block that begins with the name of a file is that file; it is run at once, as far as it can be. */
async function doTypescript(block: Block, code: string, reader: Reader): Promise<void> {
  const path = /^\/\/ ([\w./-]+\.ts)\n/.exec(code)?.[1];
  if (path === undefined) throw new Error("The first line must name the file: // list.ts");
  writeFile(reader.folder, path, code);
  if (block.mark?.word === "compiled") return;
  note(reader, block, await reader.shell.run(`bun ${path}`));
}

/** Writes a file of a page's project. */
export function writeFile(folder: string, path: string, text: string): void {
  const at = join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
}

function note(reader: Reader, { mark }: Block, { code, output }: Ran): void {
  reader.said = output;
  const wanted = mark?.word === "exits with" ? Number(mark.text) : 0;
  if (code !== wanted) throw new Error(`Ended with ${code}:\n${output}`);
}
