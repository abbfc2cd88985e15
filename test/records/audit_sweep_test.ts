/** The retention of the audit log: old entries are deleted automatically, in steps, and no other entries can be deleted. */
import { expect, test } from "bun:test";
import { sweepAudit } from "../../src/records/actions/mod.ts";
import { eventually } from "../support/eventually.ts";
import { listAudit } from "../support/lists.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { openShape } from "../support/shape.ts";
import { share } from "../support/share.ts";

const DAY_S = 86_400;
const KEEPING = { service: { auditRetentionS: 0 } };
const service = await share(openTestService(KEEPING));

async function addEntries(to: TestService, count: number, days: number): Promise<void> {
  await to.service.admin.message(
    `insert into rowhouse.audit_actions values ('of ${days} days', false) on conflict do nothing;
    insert into rowhouse.audit (actor, action, at)
    select 'test', 'of ${days} days', now() - interval '${days} days' from generate_series(1, ${count}); select 1`,
  );
}

async function countEntries(of: TestService): Promise<Record<string, number>> {
  const entries = await listAudit({ admin: of.service.admin }, 10_000);
  const mine = entries.filter(({ actor }) => actor === "test");
  return Object.fromEntries(
    [...Map.groupBy(mine, ({ action }) => action)].map(([action, all]) => [action, all.length]),
  );
}

test("a service deletes entries older than the retention in steps, and a retention of 0 deletes none", async () => {
  const [fresh, keeping] = [await openTestService(KEEPING), await openTestService(KEEPING)];
  for (const one of [keeping, fresh]) {
    await addEntries(one, 2500, 101);
    await addEntries(one, 3, 99);
  }

  // It runs soon after the start, and deletes the entries that exist then.
  const retention = { service: { auditRetentionS: 100 * DAY_S } };
  const [sweeping, idle] = [
    await openShape(retention, fresh.database, () => undefined),
    await openShape(KEEPING, keeping.database, () => undefined),
  ];
  await eventually(async () => (await countEntries(fresh))["of 101 days"] === undefined);

  expect(await countEntries(fresh)).toEqual({ "of 99 days": 3 });
  expect(await countEntries(keeping)).toEqual({ "of 99 days": 3, "of 101 days": 2500 });
  for (const one of [sweeping, idle, fresh, keeping]) await one.close();
});

test("a sweep step deletes a limited number of entries, and never an entry younger than 30 days", async () => {
  const deps = { db: service.service.db };
  while (await sweepAudit(deps, 30 * DAY_S));
  await addEntries(service, 1500, 31);
  await addEntries(service, 5, 29);

  expect(await sweepAudit(deps, 1)).toBe(true);
  expect(await countEntries(service)).toEqual({ "of 31 days": 500, "of 29 days": 5 });
  for (const keepS of [0, -1_000_000_000, 1]) expect(await sweepAudit(deps, keepS)).toBe(false);

  expect(await countEntries(service)).toEqual({ "of 29 days": 5 });
});
