/** The switch `history` of an app, where the earlier version did not record: the upgrade turns it off, once, and says so. */
import { expect, test } from "bun:test";
import { type Database, readRows, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { toOperator } from "./database.ts";
import { openStage } from "./stage.ts";

const TIMEOUT_MS = 300_000;
const HISTORY_BIT = 256;
const LIVE_BIT = 64;

type State = {
  switches: string[];
  bits: number;
  features: string[];
  stored: number;
  logged: number;
};

/** What the app "wiki" has on, the bits of its proofs that any has, what is stored of it, and what the log says. */
async function readState(admin: Database): Promise<State | undefined> {
  const [state] = await readRows<State>(
    admin,
    `select to_json(apps.switches) as switches, to_json(features) as features,
      (select bit_or(scopes)::integer from rowhouse.proofs where app_id = apps.id) as bits,
      (select count(*)::integer from rowhouse.row_changes where app_id = apps.id) as stored,
      (select count(*)::integer from rowhouse.audit where action = 'set_history_off' and app = 'wiki') as logged
    from rowhouse.release, rowhouse.apps cross join lateral
      (select pg_catalog.set_config('rowhouse.app_id', apps.id::text, true)) as entered
    where slug = 'wiki'`,
  );
  return state;
}

test(
  "of an app is turned off by the upgrade if its preview was off, and keeps what was stored",
  async () => {
    const stage = await openStage("0.1.0", "18");
    const { ADMIN_DATABASE_URL = "", DATABASE_URL = "" } = toOperator(stage.addresses);
    const env = { ADMIN_DATABASE_URL, DATABASE_URL };
    const migrate = (...words: string[]) =>
      runCommand(["migrate", ...words], { folder: stage.folder, program: ROOT, env });
    try {
      await withDatabase(stage.addresses.admin, async (admin) => {
        await admin.query("update rowhouse.release set features = '{filters,live}'", [], {
          ...{ retry: "safe", queue: SERVICE_QUEUE },
        });
        const before = await readState(admin);
        expect(before?.switches).toContain("history");
        expect(before?.stored).toBeGreaterThan(0);
        const line = "the history of rows off for wiki, because it was not recorded";
        const dry = await migrate("--dry-run");
        expect([dry.code, dry.out]).toEqual([0, expect.stringContaining(line)]);
        const { code, out } = await migrate();
        expect([code, out]).toEqual([0, expect.stringContaining(line)]);
        const after = await readState(admin);
        expect(after).toEqual({
          switches: before?.switches.filter((name) => name !== "history") ?? [],
          bits: (before?.bits ?? 0) & ~HISTORY_BIT,
          // A process of 0.1 compares its PREVIEW with them.
          features: ["filters", "live"],
          stored: before?.stored ?? 0,
          logged: (before?.logged ?? 0) + 1,
        });
        expect((after?.bits ?? 0) & LIVE_BIT).toBe(LIVE_BIT);
        const turnedOn = await runCommand(["admin", "set-app", "wiki", "history", "on"], {
          ...{ folder: stage.folder, program: ROOT, env },
        });
        expect(turnedOn.code).toBe(0);
        expect((await migrate()).out).not.toContain(line);
        expect((await readState(admin))?.switches).toContain("history");
      });
    } finally {
      await stage.close();
    }
  },
  TIMEOUT_MS,
);
