/** A clock that jumps an hour ahead or back in a running service: keys and sessions keep their validity. */
import { describe, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { revokeKey } from "../../src/records/apps/mod.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const HOUR_MS = 3_600_000;
const LIST = "/v1/data/db/todos?limit=1";

let shiftMs = 0;
const service = await share(openTestService({ service: { now: () => Date.now() + shiftMs } }));
const app = await service.makeApp(schema);
const expired = await service.makeApp(schema);
await setExpiry(expired, "now() - interval '2 hours'");
await setExpiry(app, "now() + interval '2 hours'");
const jar = await signInAs(service, await makePerson(service));

function setExpiry(of: TestApp, at: string): Promise<unknown> {
  const keyId = of.key.split(/[_.]/)[1];
  return service.service.admin.message(
    `update rowhouse.api_keys set expires_at = ${at} where key_id = '${keyId}'; select 1`,
  );
}

const statusOf = async (of: TestApp) => (await service.call(of, LIST)).status;
const statusOfPerson = async () =>
  (await service.call(undefined, "/v1/auth/me", { headers: { cookie: sharedCookie(jar) } })).status;

describe("a clock change", () => {
  test.each([
    { name: "of an hour ahead", shifts: [HOUR_MS] },
    { name: "of an hour back", shifts: [-HOUR_MS] },
    { name: "ahead, back and to the correct time", shifts: [HOUR_MS, -HOUR_MS, 0] },
  ])("$name keeps live keys and sessions valid, and expired keys invalid", async ({ shifts }) => {
    for (const shift of [0, ...shifts]) {
      shiftMs = shift;
      expect([await statusOf(app), await statusOf(expired), await statusOfPerson()]).toEqual([
        200, 401, 200,
      ]);
    }
  });

  test("of an hour back does not keep a revoked key valid in the cache", async () => {
    shiftMs = 0;
    const app = await service.makeApp(schema);
    expect(await statusOf(app)).toBe(200);
    shiftMs = -HOUR_MS;
    expect(await statusOf(app)).toBe(200);
    await revokeKey({ admin: service.service.admin }, app.key.split(/[_.]/)[1] ?? "");
    await eventually(async () => (await statusOf(app)) === 401);
  });

  test("of an hour ahead and back does not lock out a client by a limit", async () => {
    for (const shift of [HOUR_MS, 0, -HOUR_MS]) {
      shiftMs = shift;
      const responses = await Promise.all(Array.from({ length: 20 }, () => statusOf(app)));
      expect(responses).toEqual(responses.map(() => 200));
    }
  });
});
