import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { runRowsJobs } from "../../src/records/apps/mod.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const database = await share(makeDatabase());

test("failed jobs do not stop later jobs, and each error is reported", async () => {
  await withDatabase(database.adminUrl, async (admin) => {
    await admin.message(`
      insert into rowhouse.apps (id, slug) values ('00000000-0000-7000-8000-000000000001', 'jobs');
      insert into rowhouse.row_jobs (app_id, tables, kind, actor, counts, created_at) values
        ('00000000-0000-7000-8000-000000000001', '{missing}', 'end_registration', 'operator', '{0}', now() - interval '2 hours'),
        ('00000000-0000-7000-8000-000000000001', '{absent}', 'end_registration', 'operator', '{0}', now() - interval '1 hour'),
        ('00000000-0000-7000-8000-000000000001', '{}', 'end_registration', 'operator', '{}', now());
      select 1`);
    expect(await runRowsJobs(admin)).toEqual([
      expect.objectContaining({ message: expect.stringContaining("data.missing") }),
      expect.objectContaining({ message: expect.stringContaining("data.absent") }),
    ]);
    const jobs = await readRows(
      admin,
      "select tables::text as tables, ended_at is not null as ended from rowhouse.row_jobs order by created_at",
    );
    expect(jobs).toEqual([
      { tables: "{missing}", ended: false },
      { tables: "{absent}", ended: false },
      { tables: "{}", ended: true },
    ]);
  });
});
