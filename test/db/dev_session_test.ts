/** A session without a sign-in exists only in a database of `rowhouse dev`. */
import { expect, test } from "bun:test";
import { markForDev, startDevSession } from "../../src/db/mod.ts";
import { makePerson } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

const countSessions = async () => {
  const rows = await service.query("select from rowhouse.sessions");
  return rows.length;
};

test("startDevSession() rejects a database that dev did not create, and starts one in its own", async () => {
  const { id: userId } = await makePerson(service);
  const digest = "00".repeat(32);
  const session = {
    userId,
    id: "a".repeat(16),
    secretId: "test",
    sessionDigest: digest,
    identityDigest: digest,
    maxS: 60,
  };
  const start = () => startDevSession(service.service.admin, session);
  await expect(start()).rejects.toThrow("not a database of rowhouse dev");
  expect(await countSessions()).toBe(0);
  await markForDev(service.service.admin);
  await start();
  expect(await countSessions()).toBe(1);
});
