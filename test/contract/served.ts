/** A service with a table for each column kind, its documents in files, and what a client of it needs to know. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Preview } from "../../src/preview.ts";
import { makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { EVERY_KIND } from "./every_kind.ts";

export type Served = {
  /** Removed at the end. */
  folder: string;
  document: string;
  keyless: string;
  /** The settings of a client: an app of its own with the same tables, and a person with a role on it. */
  makeClient: () => Promise<Readonly<Record<string, string>>>;
  /** The id of a new row of the client's app. */
  makeRow: (key: string, table: string, row: object) => Promise<string>;
  close: () => Promise<void>;
};

export async function openServed(previews: readonly Preview[] = []): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-contract-"));
  const service = await openTestService({
    shape: "one",
    service: { trustedProxies: ["127.0.0.1"], previews },
  });
  const keep = async (name: string, app: TestApp | undefined) => {
    const path = join(folder, name);
    await Bun.write(path, (await service.call(app, "/v1/openapi.json")).text);
    return path;
  };
  return {
    folder,
    document: await keep("openapi.json", await service.makeApp(EVERY_KIND)),
    keyless: await keep("keyless.json", undefined),
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
