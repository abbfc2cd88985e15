/** Nothing that a person gets depends on rows that the person does not see: not the end of a page, a count, an error or a cursor. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { compareUnseen } from "../support/oracle/unseen.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } }),
);

// Own rows at both ends of an index, so that a page is cut before or after the row of another person.
test("no page tells where a value of another person is", async () => {
  const schema = defineSchema({
    pays: t
      .model({ owner: t.uuid().required().owner(), amount: t.integer(), note: t.string() })
      .index("owner", "id")
      .index("amount")
      .allow("member", { read: { owner: "me" }, create: true }),
  });
  const app = await service.makeApp(schema);
  await setAppSwitch(service.service, app.slug, ["browser", true]);
  const { admin } = service.service;
  const person = crypto.randomUUID();
  const key = await mintPersonKey(admin, { app: app.id, person, role: "member" });
  service.secrets.add(key);
  await admin.message(`insert into data.pays (app_id, id, owner, amount)
    select '${app.id}', gen_random_uuid(), '${person}', case when n > 10000 then n - 10000 else 1000000 end
      from generate_series(1, 10005) as n;
    insert into data.pays (app_id, id, owner, amount)
    select '${app.id}', gen_random_uuid(), gen_random_uuid(), 60123; select 1`);
  const ask = async (from: number) => {
    const query = `amount=gte.${from}&note=eq.nothing&order=amount&limit=1`;
    const found = await service.call(undefined, `/v1/data/db/pays?${query}`, { key });
    return `${found.status} ${found.text.replace(/"requestId":"[^"]+"/, "")}`;
  };
  expect(await ask(60_123)).toBe(await ask(60_124));
  expect(await ask(60_123)).toBe(await ask(500_000));
}, 60_000);

// With conditions: `person_oracle_slow.ts`.
test.each([4])(
  "without conditions, the lists of seed %d are the same",
  async (seed) => {
    const previews = ["browser"] as const;
    await using plain = await openTestService({ service: { ...UNGUARDED, previews } });
    const given = { seed, seen: 60, unseen: 10_500, requests: 20, isPlain: true };
    const { leaks, statuses, unseen } = await compareUnseen(plain, given);
    expect(leaks.slice(0, 3)).toEqual([]);
    expect(statuses[200] ?? 0).toBeGreaterThan(10);
    expect(unseen).toBe(10_500);
  },
  60_000,
);
