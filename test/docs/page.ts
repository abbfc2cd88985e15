/** Runs a page as a reader does: its blocks in order, in one folder and one shell. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeProject, ROOT } from "../support/command.ts";
import { type Block, findPath, readBlocks, replaceAllOf } from "./blocks.ts";
import { findDifference } from "./expected.ts";
import type { Ran, Shell } from "./shell.ts";

/** The environment of a page. */
export type Setting = {
  readonly shell: Shell;
  /** Replacements for texts of the page, such as an address or a key. */
  readonly replace: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
};

type Reader = {
  shell: Shell;
  /** Replacements for texts of the page. */
  replaced: ReadonlyMap<string, string>;
  /** Replacements for keys that the page displays as output. */
  keys: Map<string, string>;
  /** The output of the previous block. */
  output: string;
};

const KEY = /rh_[a-z0-9]{16}\.[0-9A-Za-z]+…?/g;

/** Registers a test for each block of a page, and then the tests of `describeMore`, which use the page's results. */
export function describePage(
  page: string,
  open: (folder: string) => Promise<Setting>,
  describeMore: () => void = () => undefined,
): void {
  const blocks = readBlocks(readFileSync(join(ROOT, page), "utf8"));
  describe(page, () => {
    const project = makeProject();
    let setting: Setting | undefined;
    let reader: Reader;
    beforeAll(async () => {
      setting = await open(project.folder);
      reader = {
        shell: setting.shell,
        replaced: new Map(Object.entries(setting.replace)),
        keys: new Map(),
        output: "",
      };
    }, 180_000);
    afterAll(async () => {
      await setting?.shell.stop();
      await setting?.close();
      project.remove();
    }, 60_000);

    test.each(blocks.map((block) => ({ ...block, begin: block.code.split("\n")[0] })))(
      "line $line: $begin",
      async (block) => await runBlock(block, reader),
      120_000,
    );
    describeMore();
    if (!blocks.some(({ language }) => language === "ts")) return;
    test("the page's TypeScript compiles", () => {
      const tsc = join(ROOT, "node_modules/.bin/tsc");
      const { stdout } = Bun.spawnSync([tsc, "--noEmit"], { cwd: reader.shell.folder() });
      expect(stdout.toString()).toBe("");
    });
  });
}

/** From now on, each key in the page's output is replaced by the key that was printed. */
function compare(expected: string, { output, keys }: Reader): void {
  expect(findDifference(expected, output)).toBeUndefined();
  const printed = output.match(KEY) ?? [];
  for (const [at, key] of (expected.match(KEY) ?? []).entries()) keys.set(key, printed[at] ?? "");
}

async function runBlock(block: Block, reader: Reader): Promise<void> {
  const { mark, language } = block;
  const code = [...reader.keys].reduce(
    (text, [displayed, real]) => text.replaceAll(displayed, real),
    replaceAllOf(block.code, reader.replaced),
  );
  if (mark?.kind === "not run" || mark?.kind === "run by") return;
  if (mark?.kind === "file") return writeFile(reader.shell.folder(), mark.text, code);
  if (language === "sh") return record(reader, block, await runCommands(reader, code, block));
  if (language === "ts" || language === "tsx") return await runTypescript(block, code, reader);
  if (["text", "json"].includes(language)) return compare(code, reader);
  throw new Error(`Cannot run a block in ${language}: add a comment that states the reason`);
}

async function runCommands({ shell }: Reader, code: string, { mark }: Block): Promise<Ran> {
  if (mark?.kind === "another shell") return await shell.run(code, { isAnother: true });
  if (mark?.kind === "instead keeps running") await shell.stop();
  if (mark?.kind.endsWith("keeps running")) return await shell.start(code, mark.text);
  return await shell.run(code);
}

/** Writes a block that begins with the name of a file, and runs the file unless it needs a browser. */
async function runTypescript(block: Block, code: string, reader: Reader): Promise<void> {
  const path = findPath(block);
  if (path === undefined) throw new Error("The first line must name the file: // list.ts");
  writeFile(reader.shell.folder(), path, code);
  if (block.mark?.kind === "compiled") return;
  record(reader, block, await reader.shell.run(`bun ${path}`));
}

export function writeFile(folder: string, path: string, text: string, mode = 0o644): void {
  const at = join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text, { mode });
}

function record(reader: Reader, { mark }: Block, { code, output }: Ran): void {
  reader.output = output;
  const wanted = mark?.kind === "exits with" ? Number(mark.text) : 0;
  if (code !== wanted) throw new Error(`Exited with ${code}:\n${output}`);
}
