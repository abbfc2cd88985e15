/** `rowhouse admin` marks roles from providers' claims, and shows whether they apply. @module */
import { expect, test } from "bun:test";
import { grantRole, showUser } from "../../src/records/people/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { makePerson, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const admin = await share(
  openAdmin({
    OIDC_CORP_ISSUER: "https://login.example.org",
    OIDC_CORP_CLIENT_ID: "rowhouse",
    OIDC_CORP_CLIENT_SECRET: "secret",
  }),
);

/** Marks a role as granted by claims of the provider. */
async function claim({ id }: Person, { slug }: TestApp, provider: string): Promise<void> {
  await admin.service.query(
    `update rowhouse.grants set provider = $3, digest = sha256('x'), secret_id = 'x'
    where user_id = $1::text::uuid and app_id = (select id from rowhouse.apps where slug = $2)`,
    [id, slug, provider],
  );
}

test("a role from a claim is marked, with a warning if its provider is not set up", async () => {
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
    "Provider gone is not set up here. Unless the service has it, roles from its claims do not count\n";

  const { grants } = await admin.json("show-user", person.email);
  expect(grants).toHaveLength(3);
  for (const grant of [
    { app: byHand.slug, provider: null, isProviderSetUp: null },
    { app: bySetUp.slug, provider: "corp", isProviderSetUp: true },
    gone,
  ])
    expect(grants).toContainEqual({
      ...grant,
      role: "editor",
      isDisabled: false,
      grantedAt: expect.any(String),
    });
  const shown = await admin.run("show-user", person.email);
  expect([shown.code, shown.err]).toEqual([0, note]);
  const lineOf = ({ slug }: TestApp) => shown.out.split("\n").find((line) => line.includes(slug));
  expect(lineOf(byHand)).toEndWith("Z");
  expect(lineOf(bySetUp)).toEndWith("Z  by claim of corp");
  expect(lineOf(byGone)).toContain("by claim of gone");

  const { app: _, ...wanted } = gone;
  expect((await admin.json("list-grants", byGone.slug))["grants"]).toMatchObject([wanted]);
  const listed = await admin.run("list-grants", byGone.slug);
  expect([listed.code, listed.err]).toEqual([0, note]);
  expect(listed.out).toContain("by claim of gone");
});

test("revoke --provider asks for confirmation and revokes only the roles from the provider's claims", async () => {
  const { service } = admin;
  const [wiki, todo] = [await service.makeApp(), await service.makeApp()];
  const people = [await makePerson(service), await makePerson(service)] as const;
  const [ada, bo] = people;
  for (const { email } of people)
    for (const { slug } of [wiki, todo])
      await grantRole(service.service, { email, slug, role: "editor" });
  await claim(ada, wiki, "left");
  await claim(ada, todo, "left");
  await claim(bo, wiki, "left");
  await claim(bo, todo, "corp");
  const taken = [
    { email: ada.email, app: wiki.slug, role: "editor" },
    { email: bo.email, app: wiki.slug, role: "editor" },
    { email: ada.email, app: todo.slug, role: "editor" },
  ];
  const rolesOf = async ({ email }: Person) =>
    (await showUser(service.service, email)).grants.map(({ app, provider }) => [app, provider]);

  const unasked = await admin.run("revoke", "--provider", "left");
  expect([unasked.code, unasked.out]).toEqual([1, ""]);
  expect(unasked.err).toContain("3 roles");
  expect(unasked.err).toContain("without a terminal: add --yes");
  for (const { email, app } of taken) expect(unasked.err).toContain(`${email} as editor on ${app}`);
  const asked = admin.start("revoke", "--provider", "corp");
  await asked.until(/again at the next sign-in\. Continue\? \[y\/N\] $/);
  asked.type("no\n");
  expect(await asked.ended).toBe(1);
  expect(await rolesOf(ada)).toHaveLength(2);

  const done = await admin.json("revoke", "--provider", "left", "--yes");
  const revoked = done["revoked"] as { email: string }[];
  expect([done["provider"], revoked.length]).toEqual(["left", 3]);
  for (const one of taken) expect(revoked).toContainEqual(one);
  expect(await rolesOf(ada)).toEqual([]);
  expect(await rolesOf(bo)).toEqual([[todo.slug, "corp"]]);
  const { entries } = await admin.json("audit", "--limit", "3");
  for (const { email, app } of taken)
    expect(entries).toContainEqual(
      expect.objectContaining({
        ...{ actor: "operator", action: "revoke", email, app },
        details: { role: "editor", provider: "left" },
      }),
    );
  expect((await admin.run("revoke", "--provider", "left", "--yes")).err).toContain(
    'no one has a role from claims of "left"',
  );
});
