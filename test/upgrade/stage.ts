/** A cluster with a frozen database, ready to be served and upgraded. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "../ci/servers.ts";
import { withDatabase } from "../support/cluster.ts";
import { hasDebianPostgres, startDebianCluster } from "../support/debian_cluster.ts";
import { PGBOUNCER, startPooler } from "../support/pgbouncer.ts";
import { type Addresses, LOGINS, PASSWORD, toAddresses } from "./database.ts";
import {
  type Contents,
  type Frozen,
  loadFrozen,
  readContents,
  readFrozen,
  renewTimes,
} from "./frozen.ts";
import { unpackProgram } from "./packed.ts";

/** `pooled`: version 18 behind PgBouncer in transaction mode. */
export const SERVERS = ["18", "15", "pooled"] as const;
export type ServerName = (typeof SERVERS)[number];

export const isInstalled: Readonly<Record<ServerName, boolean>> = {
  "18": true,
  "15": hasDebianPostgres,
  pooled: PGBOUNCER !== null,
};

export type Stage = {
  addresses: Addresses;
  frozen: Frozen;
  /** The rows as they were loaded. Then the times of the service's records were renewed. */
  loaded: Contents;
  /** The program of the version that filled the database, which a test can replace. */
  program: string;
  /** A folder for projects. */
  folder: string;
  close: () => Promise<void>;
};

export async function openStage(version: string, server: ServerName): Promise<Stage> {
  const [frozen, program] = [await readFrozen(version), await unpackProgram(version)];
  const { url, stop } = server === "15" ? await startDebianCluster() : await startNewest();
  const pooler =
    server === "pooled"
      ? await startPooler(url, {
          ...{ poolSize: 40, clients: 1000 },
          users: Object.fromEntries(LOGINS.map((login) => [login, PASSWORD])),
        })
      : undefined;
  const stage = {
    ...{ frozen, program: program.folder },
    addresses: toAddresses(url, {
      ...(pooler === undefined ? {} : { toPooled: pooler.toUrl }),
      preview: frozen.preview,
    }),
    folder: mkdtempSync(join(tmpdir(), "rowhouse-upgrade-")),
  };
  const close = async () => {
    await pooler?.close();
    await stop();
    program.remove();
    rmSync(stage.folder, { recursive: true, force: true });
  };
  try {
    await loadFrozen(frozen, url);
    const loaded = await withDatabase(stage.addresses.admin, async (admin) => {
      const contents = await readContents(admin);
      await renewTimes(admin, frozen);
      return contents;
    });
    return { ...stage, loaded, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startNewest(): Promise<{ url: string; stop: () => Promise<void> }> {
  const { env, stop } = await startEmbedded();
  return { url: env["ADMIN_DATABASE_URL"] ?? "", stop };
}
