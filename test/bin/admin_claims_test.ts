/** `rowhouse admin` on roles that providers' claims gave: marked, and whether they count. @module */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { grantRole } from "../../src/accounts/mod.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { makePerson, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";

let admin: Admin;
beforeAll(async () => {
  admin = await openAdmin({
    OIDC_CORP_ISSUER: "https://login.example.org",
    OIDC_CORP_CLIENT_ID: "rowhouse",
    OIDC_CORP_CLIENT_SECRET: "secret",
  });
});
afterAll(() => admin.close());

/** As if claims of the provider had given a role that somebody has. */
async function claim({ id }: Person, { slug }: TestApp, provider: string): Promise<void> {
  await admin.service.service.admin.query(
    `update rowhouse.grants set provider = $3, digest = sha256('x'), secret_id = 'x'
    where user_id = $1::text::uuid and app_id = (select id from rowhouse.apps where slug = $2)`,
    [id, slug, provider],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}

test("a role by a claim is marked, and so is that its provider is not set up", async () => {
  const { service } = admin;
  const apps = [await service.makeApp(), await service.makeApp(), await service.makeApp()] as const;
  const [byHand, bySetUp, byGone] = apps;
  const person = await makePerson(service);
  for (const { slug } of apps)
    await grantRole(service.service, { email: person.email, slug, role: "editor" });
  await claim(person, bySetUp, "corp");
  await claim(person, byGone, "gone");
  const gone = { app: byGone.slug, provider: "gone", isProviderSetUp: false };
  const note =
    "No provider gone is set up here. Unless the service has one, the roles that its claims gave do not count\n";

  const { grants } = await admin.json("show-user", person.email);
  expect(grants).toHaveLength(3);
  for (const grant of [
    { app: byHand.slug, provider: null, isProviderSetUp: null },
    { app: bySetUp.slug, provider: "corp", isProviderSetUp: true },
    gone,
  ])
    expect(grants).toContainEqual({ ...grant, role: "editor", grantedAt: expect.any(String) });
  const shown = await admin.run("show-user", person.email);
  expect([shown.code, shown.err]).toEqual([0, note]);
  const lineOf = ({ slug }: TestApp) => shown.out.split("\n").find((line) => line.includes(slug));
  expect(lineOf(byHand)).toEndWith("Z");
  expect(lineOf(bySetUp)).toEndWith("Z  by claim of corp");
  expect(lineOf(byGone)).toEndWith("Z  by claim of gone, which is not set up here");

  const { app: _, ...wanted } = gone;
  expect((await admin.json("list-grants", byGone.slug))["grants"]).toMatchObject([wanted]);
  const listed = await admin.run("list-grants", byGone.slug);
  expect([listed.code, listed.err]).toEqual([0, note]);
  expect(listed.out).toContain("  by claim of gone, which is not set up here\n");
});
