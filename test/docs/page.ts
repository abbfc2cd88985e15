/** A page, done by a reader: its blocks in their order, in one folder and one shell. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeProject, ROOT } from "../support/command.ts";
import { type Block, findPath, readBlocks, replaceShown } from "./blocks.ts";
import { findDifference } from "./expected.ts";
import type { Ran, Shell } from "./shell.ts";

/** What a page finds when it begins. */
export type Setting = {
  readonly shell: Shell;
  /** What the page shows, and what stands for it here: an address, a key. */
  readonly replace: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
};

type Reader = {
  shell: Shell;
  /** What the page shows, and what stands for it here. */
  replaced: ReadonlyMap<string, string>;
  /** The same of keys that were printed since. */
  keys: Map<string, string>;
  /** What the block before has said. */
  said: string;
};

const KEY = /rh_[a-z0-9]{16}\.[0-9A-Za-z]+…?/g;

/** Registers a test for each block of a page, and then others that use what the page has built. */
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
        said: "",
      };
    }, 180_000);
    afterAll(async () => {
      await setting?.shell.stop();
      await setting?.close();
      project.remove();
    }, 60_000);

    test.each(blocks.map((block) => ({ ...block, begin: block.code.split("\n")[0] })))(
      "line $line: $begin",
      async (block) => await doBlock(block, reader),
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

/** From here on, a key that the page shows as printed stands for the one that was. */
function compare(shown: string, { said, keys }: Reader): void {
  expect(findDifference(shown, said)).toBeUndefined();
  const printed = said.match(KEY) ?? [];
  for (const [at, key] of (shown.match(KEY) ?? []).entries()) keys.set(key, printed[at] ?? "");
}

async function doBlock(block: Block, reader: Reader): Promise<void> {
  const { mark, language } = block;
  const code = [...reader.keys].reduce(
    (made, [shown, real]) => made.replaceAll(shown, real),
    replaceShown(block.code, reader.replaced),
  );
  if (mark?.word === "not run" || mark?.word === "run by") return;
  if (mark?.word === "file") return writeFile(reader.shell.folder(), mark.text, code);
  if (language === "sh") return note(reader, block, await runCommands(reader, code, block));
  if (language === "ts" || language === "tsx") return await doTypescript(block, code, reader);
  if (["text", "json"].includes(language)) return compare(code, reader);
  throw new Error(`Nothing is done with a block in ${language}: say in a comment why not`);
}

async function runCommands({ shell }: Reader, code: string, { mark }: Block): Promise<Ran> {
  if (mark?.word === "another shell") return await shell.run(code, { isAnother: true });
  if (mark?.word === "instead keeps running") await shell.stop();
  if (mark?.word.endsWith("keeps running")) return await shell.start(code, mark.text);
  return await shell.run(code);
}

/** A block that begins with the name of a file is that file; it is run at once, as far as it can be. */
async function doTypescript(block: Block, code: string, reader: Reader): Promise<void> {
  const path = findPath(block);
  if (path === undefined) throw new Error("The first line must name the file: // list.ts");
  writeFile(reader.shell.folder(), path, code);
  if (block.mark?.word === "compiled") return;
  note(reader, block, await reader.shell.run(`bun ${path}`));
}

/** Writes a file of a page's project. */
export function writeFile(folder: string, path: string, text: string, mode = 0o644): void {
  const at = join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text, { mode });
}

function note(reader: Reader, { mark }: Block, { code, output }: Ran): void {
  reader.said = output;
  const wanted = mark?.word === "exits with" ? Number(mark.text) : 0;
  if (code !== wanted) throw new Error(`Ended with ${code}:\n${output}`);
}
