/** The roles that the rules of an app's schema name are known to `grant`, before anyone has them. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { freshName } from "../support/push.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin({}, { service: { previews: ["browser"] } }));

test("a role of the rules needs no confirmation, and a misspelled one names it", async () => {
  const todos = t.model({ title: t.string() }).allow(["member", "approver"], { read: true });
  const { slug } = await admin.service.makeApp(defineSchema({ [freshName()]: todos }));
  for (const email of ["ada@example.org", "bo@example.org"]) await admin.json("create-user", email);
  const granted = await admin.run("grant", "ada@example.org", slug, "approver");
  expect(granted).toMatchObject({ code: 0, err: "" });
  expect(await admin.run("grant", "bo@example.org", slug, "member")).toMatchObject({ code: 0 });
  expect(await admin.run("grant", "bo@example.org", slug, "aprover")).toMatchObject({
    code: 1,
    err: expect.stringContaining("its roles are approver, member; did you mean approver?"),
  });
});
