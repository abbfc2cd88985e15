/**
 * `bun run house`: how many files of `src/` the last setting and the last kind of column touched. More than 5 and 7 mean that a
 * fact has more than one home.
 *
 * @module
 */
import { $ } from "bun";

/** What each adds to the file that declares it. */
const ADDED = [
  { name: "switch of an app", file: "src/app_switch.ts", text: "    title: ", wanted: 5 },
  { name: "kind of column", file: "src/kinds/mod.ts", text: "Field,", wanted: 7 },
] as const;

for (const { name, file, text, wanted } of ADDED) {
  const [commit = ""] = await readLines($`git log -1 --format=%h -S${text} -- ${file}`);
  const files =
    commit === "" ? [] : await readLines($`git show --name-only --format= ${commit} -- src`);
  console.log(`last ${name}: ${files.length} files of src in ${commit}, wanted ${wanted}`);
}

async function readLines(command: ReturnType<typeof $>): Promise<string[]> {
  return (await command.text()).split("\n").filter((line) => line !== "");
}
