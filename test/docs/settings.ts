/** What pages begin with: a served service and an app, with the address and the key that the pages show. @module */
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService } from "../support/service.ts";
import type { Setting } from "./page.ts";

/** The key and the address that the pages show. */
const SHOWN_KEY = "rh_m0ngxy4ek576z200.FnRN";
const SHOWN_URL = "http://localhost:8787";

/** A service and the app `wiki`, which has no table yet; operators' commands reach the database. */
export async function schemaFreeSetting(): Promise<Setting> {
  const service = await openTestService();
  const { key } = await service.makeApp(undefined, { slug: "wiki" });
  return {
    env: {
      DATABASE_URL: service.database.servingUrl,
      ADMIN_DATABASE_URL: service.database.adminUrl,
      DATABASE_PREPARE: service.database.prepare ? "on" : "off",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
    replace: { [SHOWN_URL]: service.url, [SHOWN_KEY]: key },
    close: service.close,
  };
}
