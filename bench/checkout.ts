/** Another checkout of this repository to compare with: a folder, or a commit in a temporary worktree. @module */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ROOT } from "../test/support/command.ts";

/** The folder of the benches in a checkout. Older commits have it in `test/`. */
export function findBenches(root: string): string | undefined {
  return ["bench", "test/bench"]
    .map((folder) => join(root, folder))
    .find((folder) => existsSync(join(folder, "stage.ts")));
}

/**
 * The root folder of the checkout. `stack` removes what it creates.
 *
 * @throws {Error} neither a folder of this repository nor a commit
 */
export async function openCheckout(stack: AsyncDisposableStack, name: string): Promise<string> {
  if (findBenches(resolve(name)) !== undefined) return resolve(name);
  const git = async (...args: string[]) => await Bun.$`git -C ${ROOT} ${args}`.nothrow().quiet();
  const found = await git(
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${name}^{commit}`,
  );
  if (found.exitCode !== 0)
    throw new Error(
      `Cannot compare with "${name}": must be a folder or a commit of this repository`,
    );
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-against-"));
  stack.defer(async () => void (await git("worktree", "remove", "--force", folder)));
  const added = await git("worktree", "add", "--quiet", "--detach", folder, found.text().trim());
  if (added.exitCode !== 0) throw new Error(`Cannot check out ${name}: ${added.stderr}`);
  await Bun.$`${process.execPath} install --frozen-lockfile`.cwd(folder).quiet();
  return folder;
}
