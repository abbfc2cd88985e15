/** What pages begin with: a served service and an app, with the address and the key that the pages show. @module */
import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { readBlocks } from "./blocks.ts";
import { type Setting, writeFile } from "./page.ts";
import { openShell } from "./shell.ts";

/** The key and the address that the pages show. */
const SHOWN_KEY = "rh_m0ngxy4ek576z200.FnRN";
const SHOWN_URL = "http://localhost:8787";
/** That of a second app, `tasks`. */
const SHOWN_TASKS_KEY = "rh_t4skd2ev8q0n6hzx.Qm7t";

/** That of `wiki` at the service for staging. */
const SHOWN_STAGING_KEY = "rh_st4g1ngk3y0z8w5q.Hx2B";

/** A service and the app `wiki`, which has no table yet, in a project; operators' commands reach the database. */
export async function openWiki(folder: string): Promise<Setting> {
  return (await makeWiki(folder)).setting;
}

/** The same at a service with an address of its own, beside one for staging that knows the app and none of its tables. */
export async function openTwoServices(folder: string): Promise<Setting> {
  const { setting, url } = await makeWiki(folder);
  const staging = await openTestService();
  const { key } = await staging.makeApp(undefined, { slug: "wiki" });
  return {
    ...setting,
    replace: {
      ...setting.replace,
      "https://api.example.org": url,
      "https://api.staging.example.org": staging.url,
      [SHOWN_STAGING_KEY]: key,
    },
    close: async () => {
      await setting.close();
      await staging.close();
    },
  };
}

/** A service and the app `wiki` after the beginning of docs/data.md: the two variables are set, and its tables pushed. */
export async function openWikiWithTables(folder: string): Promise<Setting> {
  const { setting, url, key } = await makeWiki(folder);
  const data = readBlocks(readFileSync(join(ROOT, "docs/data.md"), "utf8"));
  const schema = data.find(({ code }) => code.startsWith("// schema/mod.ts\n"));
  writeFile(folder, "schema/mod.ts", schema?.code ?? "");
  const beginning = `export ROWHOUSE_URL=${url} ROWHOUSE_API_KEY=${key}\nrowhouse db push`;
  const { code, output } = await setting.shell.run(beginning);
  if (code !== 0) throw new Error(output);
  return setting;
}

type Wiki = { setting: Setting; url: string; key: string };

async function makeWiki(folder: string): Promise<Wiki> {
  const service = await openTestService();
  const origins = ["https://wiki.example.org"];
  const { key } = await service.makeApp(undefined, { slug: "wiki", origins });
  const tasks = await service.makeApp(undefined, { slug: "tasks" });
  makeFiles(folder);
  const path = `${join(folder, ".bin")}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  const env = { PATH: path, ...toOperatorEnv(service) };
  const setting = {
    shell: openShell({ folder, state: join(folder, ".state"), env }),
    replace: { [SHOWN_URL]: service.url, [SHOWN_KEY]: key, [SHOWN_TASKS_KEY]: tasks.key },
    close: service.close,
  };
  return { setting, url: service.url, key };
}

/** What an operator of the service has in the environment. */
export function toOperatorEnv({ database }: TestService): Record<string, string> {
  return {
    DATABASE_URL: database.servingUrl,
    ADMIN_DATABASE_URL: database.adminUrl,
    DATABASE_PREPARE: database.prepare ? "on" : "off",
    COOKIE_DOMAIN: "example.org",
    IDENTITY_URL: "https://id.example.org",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
}

/** What `rowhouse init` would have made of the folder, with the sources of this repository as the package. */
function makeFiles(folder: string): void {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
  const names = Object.entries(compilerOptions.paths as Record<string, string[]>);
  const paths = Object.fromEntries(
    names.map(([name, [path = ""]]) => [name, [join(ROOT, path)]] as const),
  );
  const options = { ...compilerOptions, paths, noUnusedLocals: false };
  const tsconfig = { compilerOptions: options, include: ["**/*.ts", ".rowhouse/*.d.ts"] };
  writeFile(folder, "tsconfig.json", JSON.stringify(tsconfig));
  writeFile(folder, "package.json", JSON.stringify({ name: "wiki", type: "module" }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/src/bin/rowhouse.ts' "$@"\n`;
  writeFile(folder, ".bin/rowhouse", script, 0o755);
}
