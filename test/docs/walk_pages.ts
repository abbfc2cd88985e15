/**
 * Runs README.md and docs/tutorial.md as a new user does: in a copy of this repository, with only Bun, from packing the
 * package to rows in a second service. Installs packages, so `bun run test:docs` runs it.
 */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";
import { openTestService } from "../support/service.ts";
import { describePage, type Setting, writeFile } from "./page.ts";
import { toOperatorEnv } from "./settings.ts";
import { openShell } from "./shell.ts";

describePage("README.md", openCheckout);
describePage("docs/tutorial.md", openCheckout);

/** Copies the repository's tracked files, and opens a remote service with an operator's settings. */
async function openCheckout(folder: string): Promise<Setting> {
  const service = await openTestService();
  const [dev, server] = [await findFreePort(), await findFreePort()];
  copyRepository(join(folder, "rowhouse"));
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const name of ["bun", "bunx"]) symlinkSync(process.execPath, join(bin, name));
  const lines = Object.entries(toOperatorEnv(service)).map(
    ([name, value]) => `${name}='${value}'\n`,
  );
  writeFile(folder, "admin.env", lines.join(""));
  const env = { PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, PORT: String(dev) };
  return {
    shell: openShell({ folder: join(folder, "rowhouse"), state: join(folder, "state"), env }),
    replace: {
      "/etc/rowhouse/admin.env": join(folder, "admin.env"),
      "/opt/rowhouse": ROOT,
      "https://api.example.org": service.url,
      "8787": String(dev),
      "3000": String(server),
    },
    close: service.close,
  };
}

function copyRepository(to: string): void {
  const { stdout } = Bun.spawnSync(["git", "ls-files", "-z"], { cwd: ROOT });
  const paths = stdout
    .toString()
    .split("\0")
    .filter((path) => path !== "");
  for (const path of paths) cpSync(join(ROOT, path), join(to, path), { verbatimSymlinks: true });
}
