/** What pages begin with: a served service and an app, with the address and the key that the pages show. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService } from "../support/service.ts";
import { readBlocks } from "./blocks.ts";
import { openPageShell, type Setting, writeFile } from "./page.ts";

/** The key and the address that the pages show. */
const SHOWN_KEY = "rh_m0ngxy4ek576z200.FnRN";
const SHOWN_URL = "http://localhost:8787";
/** That of a second app, `tasks`. */
const SHOWN_TASKS_KEY = "rh_t4skd2ev8q0n6hzx.Qm7t";

/** A service and the app `wiki`, which has no table yet; operators' commands reach the database. */
export async function openWiki(): Promise<Setting> {
  const service = await openTestService();
  const { key } = await service.makeApp(undefined, {
    slug: "wiki",
    origins: ["https://wiki.example.org"],
  });
  const tasks = await service.makeApp(undefined, { slug: "tasks" });
  return {
    env: {
      DATABASE_URL: service.database.servingUrl,
      ADMIN_DATABASE_URL: service.database.adminUrl,
      DATABASE_PREPARE: service.database.prepare ? "on" : "off",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_URL: "https://id.example.org",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
    replace: { [SHOWN_URL]: service.url, [SHOWN_KEY]: key, [SHOWN_TASKS_KEY]: tasks.key },
    close: service.close,
  };
}

/** The same after the beginning of docs/data.md: the two variables are set, and its tables pushed. */
export async function openWikiWithTables(folder: string): Promise<Setting> {
  const setting = await openWiki();
  const { [SHOWN_URL]: url = "", [SHOWN_KEY]: key = "" } = setting.replace ?? {};
  const env = { ...setting.env, ROWHOUSE_URL: url, ROWHOUSE_API_KEY: key };
  const data = readBlocks(readFileSync(join(ROOT, "docs/data.md"), "utf8"));
  const schema = data.find(({ code }) => code.startsWith("// schema/mod.ts\n"));
  writeFile(folder, "schema/mod.ts", schema?.code ?? "");
  const { code, output } = await openPageShell(folder, env).run("rowhouse db push");
  if (code !== 0) throw new Error(output);
  return { ...setting, env };
}
