/** A service with a table for each column kind, with its documents in files and the settings of a client. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Preview } from "../../src/preview.ts";
import { makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { EVERY_KIND } from "./every_kind.ts";

export type Served = {
  /** Removed by `close`. */
  folder: string;
  document: string;
  keyless: string;
  /** Returns the settings of a client: a new app with the same tables, and a person with a role on it. */
  makeClient: () => Promise<Readonly<Record<string, string>>>;
  /** Creates a row of the client's app and returns its id. */
  makeRow: (key: string, table: string, row: object) => Promise<string>;
  close: () => Promise<void>;
};

export async function openServed(previews: readonly Preview[] = []): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-contract-"));
  const service = await openTestService({
    shape: "one",
    service: { trustedProxies: ["127.0.0.1"], previews },
  });
  const save = async (name: string, app: TestApp | undefined) => {
    const path = join(folder, name);
    await Bun.write(path, (await service.call(app, "/v1/openapi.json")).text);
    return path;
  };
  return {
    folder,
    document: await save("openapi.json", await service.makeApp(EVERY_KIND)),
    keyless: await save("keyless.json", undefined),
    makeClient: async () => {
      const app = await service.makeApp(EVERY_KIND);
      const person = await makePerson(service, { app, role: "editor" });
      return {
        CONTRACT_URL: service.url,
        CONTRACT_KEY: app.key,
        CONTRACT_APP: app.slug,
        CONTRACT_COOKIE: sharedCookie(await signInAs(service, person)),
      };
    },
    makeRow: async (key, table, row) => {
      const call = { method: "POST", json: row, key };
      const response = await service.call(undefined, `/v1/data/db/${table}`, call);
      return String(Object(response.json).id);
    },
    close: async () => {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
