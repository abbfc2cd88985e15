/** The environments of pages: a served service and an app, with replacements for the page's address and key. @module */
import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService, type TestService, type TestServiceOptions } from "../support/service.ts";
import { readBlocks } from "./blocks.ts";
import { type Setting, writeFile } from "./page.ts";
import { openShell } from "./shell.ts";

/** The key and the address in the pages. */
const PAGE_KEY = "rh_m0ngxy4ek576z200.FnRN";
const PAGE_URL = "http://localhost:8787";
/** The key of a second app, `tasks`. */
const PAGE_TASKS_KEY = "rh_t4skd2ev8q0n6hzx.Qm7t";

/** The key of `wiki` at the staging service. */
const PAGE_STAGING_KEY = "rh_st4g1ngk3y0z8w5q.Hx2B";

/** Opens a service with the app `wiki`, which has no tables, in a project. Operators' commands can connect to the database. */
export async function openWiki(folder: string): Promise<Setting> {
  return (await makeWiki(folder)).setting;
}

/** As {@linkcode openWiki}, with the preview for rules. */
export async function openRuledWiki(folder: string): Promise<Setting> {
  return (await makeWiki(folder, { service: { previews: ["browser"] } })).setting;
}

/** As {@linkcode openWiki}, with a second service for staging on which the app has no tables. */
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
      [PAGE_STAGING_KEY]: key,
    },
    close: async () => {
      await setting.close();
      await staging.close();
    },
  };
}

/** As {@linkcode openWiki}, after docs/data.md: both variables are set, the tables are pushed, and `db.ts` has the client. */
export async function openWikiWithTables(folder: string): Promise<Setting> {
  const { setting, url, key } = await makeWiki(folder);
  const data = readBlocks(readFileSync(join(ROOT, "docs/data.md"), "utf8"));
  for (const path of ["schema/mod.ts", "db.ts"]) {
    const block = data.find(({ code }) => code.startsWith(`// ${path}\n`));
    writeFile(folder, path, block?.code ?? "");
  }
  const beginning = `export ROWHOUSE_URL=${url} ROWHOUSE_API_KEY=${key}\nrowhouse db push`;
  const { code, output } = await setting.shell.run(beginning);
  if (code !== 0) throw new Error(output);
  return setting;
}

type Wiki = { setting: Setting; url: string; key: string };

async function makeWiki(folder: string, options: TestServiceOptions = {}): Promise<Wiki> {
  const service = await openTestService(options);
  const origins = ["https://wiki.example.org"];
  const { key } = await service.makeApp(undefined, { slug: "wiki", origins });
  const tasks = await service.makeApp(undefined, { slug: "tasks" });
  makeFiles(folder);
  const path = `${join(folder, ".bin")}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  const env = { PATH: path, ...toOperatorEnv(service) };
  const setting = {
    shell: openShell({ folder, state: join(folder, ".state"), env }),
    replace: { [PAGE_URL]: service.url, [PAGE_KEY]: key, [PAGE_TASKS_KEY]: tasks.key },
    close: service.close,
  };
  return { setting, url: service.url, key };
}

/** Returns the environment of an operator of the service. */
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

/** Writes the files of `rowhouse init`, with this repository's sources as the package. */
function makeFiles(folder: string): void {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
  const names = Object.entries(compilerOptions.paths as Record<string, string[]>);
  const paths = Object.fromEntries(
    names.map(([name, [path = ""]]) => [name, [join(ROOT, path)]] as const),
  );
  const options = { ...compilerOptions, paths, noUnusedLocals: false };
  const tsconfig = {
    compilerOptions: options,
    include: ["**/*.ts", "**/*.tsx", ".rowhouse/*.d.ts"],
  };
  writeFile(folder, "tsconfig.json", JSON.stringify(tsconfig));
  writeFile(folder, "package.json", JSON.stringify({ name: "wiki", type: "module" }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/src/cli/rowhouse.ts' "$@"\n`;
  writeFile(folder, ".bin/rowhouse", script, 0o755);
}
