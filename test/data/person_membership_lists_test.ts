/** Lists of new rows: the rule is that of the state before the list, so that no row is the membership that allows another one. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["filters", "browser"] } }));
const app = await service.makeApp(
  defineSchema({
    teams: t.model({ name: t.string() }).allow("member", { read: true }),
    members: t
      .model({ person: t.uuid().required(), team: t.ref("teams"), n: t.integer().unique() })
      .unique("team", "person")
      .allow("member", {
        ...{ read: { person: "me" }, update: { person: "me" } },
        create: [{ person: "me" }, { team: { memberOf: "members" } }],
      }),
  }),
);
await openToBrowsers(service, app);
const me = crypto.randomUUID();
const who = { app: app.id, person: me, role: "member" };
const key = await mintPersonKey(service.service.admin, who);
const call = async (by: object, path: string, json: unknown) => {
  const sent = { ...app, ...by };
  return await service.call(sent, `/v1/data/db/${path}`, { method: "POST", json });
};

const WAYS = ["", "?onConflict=n", "?onConflict=n&existing=ignore"];

test.each(WAYS)("a list to members%s that begins with another person", async (query) => {
  const team = ((await call({}, "teams", { name: query })).json as { id: string }).id;
  const other = crypto.randomUUID();
  const n = WAYS.indexOf(query) * 2;
  // In the order of the key, the own row is the first; in that of the list, the other one.
  const rows = [
    { n: n + 1, person: other, team },
    { n, person: me, team },
  ];
  const rejected = await call({ key }, `members${query}`, rows);
  expect([rejected.status, rejected.json]).toMatchObject([403, { error: "forbidden" }]);
  expect(rejected.text).toContain("/0");
  expect((await call({ key }, `members${query}`, rows.slice(1))).status).toBeLessThan(300);
  expect((await call({ key }, `members${query}`, rows.slice(0, 1))).status).toBeLessThan(300);
});
