/** Roles on apps by claims of a provider: granted and revoked at each sign-in, and never instead of a role from a person. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { RoleRule } from "../../src/identity/mod.ts";
import { setPasswordByLink } from "../../src/identity/passwords/password.ts";
import { readList } from "../../src/records/actions/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import {
  appPeopleList,
  grantRole,
  makeClaimedRecords,
  makePasswordLink,
  revokeRole,
  showUser,
} from "../../src/records/people/mod.ts";
import { makeIdentitySecrets, makeSession } from "../../src/records/secrets/mod.ts";
import { createLinked, finishProviderSignIn, makePending } from "../../src/records/sessions/mod.ts";
import {
  checkClaimedApps,
  checkClaimedRoles,
  checkWithheldClaims,
} from "../../src/service/doctor/checks.ts";
import { systemRandomBytes } from "../../src/std/random_text.ts";
import { testDeps } from "../support/deps.ts";
import { textOf } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  PASSWORD,
  readHidden,
  readMe,
  signInAs,
  visit,
} from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { invite, signInWith } from "../support/provider_people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const rule = (claim: string, value: string, slug: string, role: string): RoleRule => ({
  claim: claim.split("."),
  value,
  slug,
  role,
});
const RULES = [
  rule("groups", "wiki editors", "wiki", "editor"),
  rule("groups", "staff", "wiki", "viewer"),
  rule("realm_access.roles", "CN=Staff,OU:All%", "todo", "member"),
];

const ours = await share(
  startProvider({
    name: "ours",
    label: "<Ours>",
    trustedDomains: ["example.org"],
    scopes: ["groups"],
  }),
);
const service = await share(
  openTestService({
    identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, providers: [ours.settings] }),
  }),
);
ours.register(`${service.url}/oidc/ours/callback`);
for (const slug of ["wiki", "todo"])
  await service.makeApp(undefined, { slug, origins: [`https://${slug}.example.org`] });
beforeEach(() => {
  ours.wrong = undefined;
  ours.settings.roles = RULES;
});

type Held = { groups?: unknown; claims?: Record<string, unknown> };

/** A sign-in of a person with these claims. */
async function signIn(email: string, { groups, claims }: Held = {}, jar: Jar = new Map()) {
  ours.accounts.set(email, { email, email_verified: true, groups });
  ours.wrong = { claims: (held) => ({ ...held, ...claims }) };
  const response = await signInWith(service, jar, { login: email });
  return { response, jar };
}

/** The role in `/me`, or the status of a rejection. */
async function roleOn(jar: Jar, slug: string): Promise<unknown> {
  const { status, json } = await readMe(service, jar, slug);
  return status === 200 ? (json as { role: string }).role : status;
}

async function listRoles(email: string): Promise<string[]> {
  const { grants } = await showUser(service.service, email);
  return grants.map(({ app, role, provider }) => `${app} ${role} ${provider}`);
}

test("a claim gives a role, changes it and revokes it, and the role is marked with the provider", async () => {
  const { email, id } = await invite(service);
  const first = await signIn(email, { groups: ["wiki editors", "staff", 7] });
  expect(await roleOn(first.jar, "wiki")).toBe("editor");
  expect(await roleOn(first.jar, "todo")).toBe(403);
  expect((await visit(service, first.jar, "/login")).text).toContain("https://wiki.example.org");
  expect(await listRoles(email)).toEqual(["wiki editor ours"]);
  expect((await readList(service.service, appPeopleList, { of: "wiki" })).grants).toMatchObject([
    { email, role: "editor", provider: "ours" },
  ]);
  const second = await signIn(email, { groups: "staff" });
  expect(await roleOn(second.jar, "wiki")).toBe("viewer");
  // The earlier session has the new role, too: a role is a row.
  expect(await roleOn(first.jar, "wiki")).toBe("viewer");
  const roles = ["CN=Staff,OU:All%"];
  await signIn(email, { groups: "staff", claims: { realm_access: { roles } } });
  expect(await listRoles(email)).toEqual(["todo member ours", "wiki viewer ours"]);
  await signIn(email);
  expect(await listRoles(email)).toEqual([]);
  expect([await roleOn(second.jar, "wiki"), await roleOn(second.jar, "todo")]).toEqual([403, 403]);
  const events = await service.query<{ event: string }>(
    `select concat_ws(' ', actor, action, app, details ->> 'role', details ->> 'provider') as event
    from rowhouse.audit where user_id = $1 and action in ('grant', 'revoke') order by id`,
    [id],
  );
  expect(events.map(({ event }) => event)).toEqual([
    "sign-in grant wiki editor ours",
    "sign-in grant wiki viewer ours",
    "sign-in grant todo member ours",
    expect.stringMatching(/^sign-in revoke /),
    expect.stringMatching(/^sign-in revoke /),
  ]);
});

describe("no role is granted", () => {
  test.each<Held & { name: string }>([
    { name: "by a value with only a matching prefix", groups: ["staff2", "Staff", " staff"] },
    { name: "by a text with several words", groups: "staff and others" },
    { name: "by an object, a number, or a nested value", groups: [{ staff: true }, ["staff"], 1] },
    { name: "by an object with that name", groups: { staff: "staff" } },
    { name: "by inherited properties", claims: { realm_access: "x" } },
  ])("$name", async (held) => {
    ours.settings.roles = [
      ...RULES,
      rule("constructor.name", "Object", "wiki", "viewer"),
      rule("realm_access.length", "1", "wiki", "viewer"),
    ];
    const { email } = await invite(service);
    expect((await signIn(email, held)).response.status).toBe(303);
    expect(await listRoles(email)).toEqual([]);
  });
});

describe("a role stays, and is reported, if the provider withholds its claim", () => {
  const ELSEWHERE = { _claim_names: { groups: "src1" } };
  test.each([
    {
      name: "by a reference, as Entra does for more than 200 groups",
      claims: { ...ELSEWHERE, _claim_sources: { src1: { endpoint: "https://x" } } },
      reason: "in _claim_names",
    },
    {
      name: "by hasgroups, as Entra does",
      claims: { hasgroups: true },
      reason: "hasgroups is true",
    },
    {
      name: "as an empty list with a reference",
      claims: { groups: [], ...ELSEWHERE },
      reason: "in _claim_names",
    },
    { name: "as null", claims: { groups: null }, reason: "null" },
    { name: "as objects", claims: { groups: [{ name: "x" }] }, reason: "a list without texts" },
    { name: "as a number", claims: { groups: 7 }, reason: "neither a text nor a list" },
  ])("$name", async ({ claims, reason: why }) => {
    const reason = `groups (${why})`;
    const { email, id } = await invite(service);
    await signIn(email, { groups: "staff" });
    const { response, jar } = await signIn(email, { claims });
    expect(response.status).toBe(303);
    expect(await listRoles(email)).toEqual(["wiki viewer ours"]);
    expect(await roleOn(jar, "wiki")).toBe("viewer");
    expect(await readWithheld(id)).toEqual([reason]);
    expect(service.log.some((line) => line.includes(`did not send ${reason}`))).toBe(true);
    // Complete claims apply again.
    await signIn(email, { groups: ["wiki editors"] });
    expect(await listRoles(email)).toEqual(["wiki editor ours"]);
    await signIn(email, { groups: [] });
    expect(await listRoles(email)).toEqual([]);
    const results = await checkWithheldClaims(service.service.admin);
    expect(results.map(({ level, about }) => [level, about])).toContainEqual([
      "warn",
      "claims of ours",
    ]);
  });

  test.each<{ name: string; realm: unknown; reason: string | undefined }>([
    { name: "null", realm: null, reason: "realm_access is null" },
    { name: "a text", realm: "x", reason: "realm_access is no object" },
    { name: "a list", realm: [{ roles: [] }], reason: "realm_access is no object" },
    { name: "an object with null", realm: { roles: null }, reason: "null" },
    { name: "an object without it", realm: {}, reason: undefined },
    { name: "an object with an empty list", realm: { roles: [] }, reason: undefined },
  ])("below a claim that is $name", async ({ realm, reason }) => {
    const { email, id } = await invite(service);
    await signIn(email, { claims: { realm_access: { roles: ["CN=Staff,OU:All%"] } } });
    await signIn(email, { claims: { realm_access: realm } });
    expect(await listRoles(email)).toEqual(reason === undefined ? [] : ["todo member ours"]);
    expect(await readWithheld(id)).toEqual(
      reason === undefined ? [] : [`realm_access.roles (${reason})`],
    );
  });

  test("but a person without a role gets none by it, and roles by other claims apply", async () => {
    const { email } = await invite(service);
    const roles = ["CN=Staff,OU:All%"];
    const claims = { hasgroups: true, realm_access: { roles } };
    await signIn(email, { claims });
    expect(await listRoles(email)).toEqual(["todo member ours"]);
    await signIn(email, { claims: { hasgroups: true } });
    expect(await listRoles(email)).toEqual([]);
  });

  test("and another claim of the app does not lower it", async () => {
    ours.settings.roles = [
      rule("groups", "wiki editors", "wiki", "editor"),
      rule("realm_access.roles", "reader", "wiki", "viewer"),
    ];
    const { email } = await invite(service);
    await signIn(email, { groups: "wiki editors" });
    const claims = { hasgroups: true, realm_access: { roles: ["reader"] } };
    await signIn(email, { claims });
    expect(await listRoles(email)).toEqual(["wiki editor ours"]);
    const other = await invite(service);
    await signIn(other.email, { claims });
    expect(await listRoles(other.email)).toEqual(["wiki viewer ours"]);
  });

  test("and a long list, or a text, is read", async () => {
    for (const groups of [[...Array(300).keys()].map(String).concat("staff"), "staff"]) {
      const { email, id } = await invite(service);
      await signIn(email, { groups });
      expect(await listRoles(email)).toEqual(["wiki viewer ours"]);
      expect(await readWithheld(id)).toEqual([]);
    }
  });
});

async function readWithheld(id: string): Promise<string[]> {
  const events = await service.query<{ reason: string }>(
    `select details ->> 'reason' as reason from rowhouse.audit
    where user_id = $1 and action = 'claims_withheld' order by id`,
    [id],
  );
  return events.map(({ reason }) => reason);
}

test("a claim does not change or revoke a granted role, and a granted role replaces a claimed role", async () => {
  const { email } = await invite(service);
  const { admin } = service.service;
  await grantRole({ admin }, { email, slug: "wiki", role: "owner" });
  const { response } = await signIn(email, { groups: "staff" });
  expect([response.status, await listRoles(email)]).toEqual([303, ["wiki owner null"]]);
  await signIn(email);
  expect(await listRoles(email)).toEqual(["wiki owner null"]);
  await revokeRole({ admin }, { email, slug: "wiki" });
  await signIn(email, { groups: "staff" });
  expect(await listRoles(email)).toEqual(["wiki viewer ours"]);
  await grantRole({ admin }, { email, slug: "wiki", role: "viewer" });
  const { jar } = await signIn(email);
  expect(await listRoles(email)).toEqual(["wiki viewer null"]);
  expect(await roleOn(jar, "wiki")).toBe("viewer");
});

test("a role ends with its rule, and when the provider is unlinked", async () => {
  const { email } = await invite(service);
  await signIn(email, { groups: "staff" });
  ours.settings.roles = [];
  await signIn(email, { groups: "staff" });
  expect(await listRoles(email)).toEqual([]);
  ours.settings.roles = RULES;
  await signIn(email, { groups: "staff" });
  await service.query(
    `update rowhouse.users set password_hash = 'x', password_digest = sha256('x'), password_secret_id = 'x'
    where email = $1`,
    [email],
  );
  const { jar } = await signIn(email, { groups: "staff" });
  expect(await listRoles(email)).toEqual(["wiki viewer ours"]);
  // A provider that does not ask again proves nothing. A person who unlinks has just been asked.
  await service.query("update rowhouse.sessions set proven_at = now()");
  const asked = await visit(service, jar, "/account/linked?remove=ours");
  expect(textOf(asked)).toContain("app roles");
  const fields = readHidden(asked.text);
  expect((await visit(service, jar, "/account/linked", { fields })).status).toBe(303);
  expect(await listRoles(email)).toEqual([]);
});

test("an invited person without a name gets that of the provider, once", async () => {
  const { email } = await invite(service, "wiki");
  const nameOf = async () => (await showUser(service.service, email)).displayName;
  for (const name of ["Ada Lovelace", "Another"]) {
    ours.accounts.set(email, { email, email_verified: true, name });
    expect((await signInWith(service, new Map(), { login: email })).status).toBe(303);
    expect(await nameOf()).toBe("Ada Lovelace");
  }
});

test("a rule for an unknown or disabled app is logged, and does not prevent the sign-in", async () => {
  await service.makeApp(undefined, { slug: "closed" });
  await setAppSwitch(service.service, "closed", ["disabled", true]);
  ours.settings.roles = [
    rule("groups", "staff", "no-app", "member"),
    rule("groups", "staff", "closed", "member"),
    ...RULES,
  ];
  const { email } = await invite(service);
  const { response, jar } = await signIn(email, { groups: "staff" });
  expect([response.status, await roleOn(jar, "wiki"), await roleOn(jar, "closed")]).toEqual([
    303,
    "viewer",
    404,
  ]);
  expect(service.log.join("\n")).toContain("no-app does not exist, closed is disabled");
  expect(await checkClaimedApps(service.service.db, [ours.settings])).toMatchObject([
    {
      about: "roles by claims of ours",
      level: "warn",
      message: expect.stringMatching(/no-app,.* closed,/),
    },
  ]);
});

test("a claimed role does not count without its provider", async () => {
  const { email } = await invite(service);
  const { jar } = await signIn(email, { groups: "staff" });
  expect(await roleOn(jar, "wiki")).toBe("viewer");
  const { name } = ours.settings;
  const admin = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const readPeople = async () =>
    textOf(await visit(service, admin, `/console/apps/wiki/people?q=${email}`));
  expect(await readPeople()).not.toContain("role inactive");
  ours.settings.name = "renamed";
  try {
    expect([await roleOn(jar, "wiki"), await roleOn(jar, "todo")]).toEqual([403, 403]);
    expect((await visit(service, jar, "/login")).text).not.toContain("https://wiki.example.org");
    expect(await readPeople()).toContain("by ours not configured: role inactive");
    expect(await checkClaimedRoles(service.service.db, [ours.settings])).toMatchObject([
      { about: "roles by claims of ours", level: "warn" },
    ]);
  } finally {
    ours.settings.name = name;
  }
  expect(await roleOn(jar, "wiki")).toBe("viewer");
  expect(await checkClaimedRoles(service.service.db, [ours.settings])).toEqual([]);
});

test("a sign-in fails while the provider withholds the claims", async () => {
  const { email } = await invite(service);
  await signIn(email, { groups: "staff" });
  const jar: Jar = new Map();
  ours.wrong = { endpoint: { path: "me", status: 500 } };
  const response = await signInWith(service, jar, { login: email });
  expect([response.status, jar.size]).toEqual([503, 0]);
  expect(await listRoles(email)).toEqual(["wiki viewer ours"]);
});

test("a role that a stolen serving login writes has no effect", async () => {
  const { db, admin } = service.service;
  const deps = {
    db,
    identitySecrets: makeIdentitySecrets(["another secret, of whoever stole it."]),
  };
  const random = { ...deps, randomBytes: systemRandomBytes };
  const email = "accomplice@example.org";
  const link = { issuer: ours.settings.issuer, subject: "planted" };
  const made = { ...link, email, provider: "ours", displayName: undefined };
  const linked = await createLinked({ ...deps, makeId: () => crypto.randomUUID() }, made);
  if (linked === undefined) throw new Error("The link was not taken");
  const id = linked.userId;
  const claimed = [{ slug: "wiki", role: "admin" }];
  const { records } = await makeClaimedRecords(deps, { userId: id, provider: "ours", claimed });
  const outcome = await finishProviderSignIn(deps, {
    ...link,
    ...{ linked, provider: "ours", presented: "", session: makeSession(random, id) },
    ...{ pending: makePending(random, id), factorRule: "none" },
    ...{ sessionMaxS: 600, provenAtS: undefined, address: "::1", state: "x", deviceName: "x" },
    ...{ isKnownDevice: true, claimed: records },
  });
  expect([outcome, await listRoles(email)]).toEqual(["done", ["wiki admin ours"]]);
  const by = { ...testDeps({ admin }), db };
  const { linkText } = await makePasswordLink(by, email);
  service.secrets.add(linkText);
  expect(await setPasswordByLink(by, linkText, PASSWORD)).toBe(true);
  const jar = await signInAs(service, { id, email });
  expect(await roleOn(jar, "wiki")).toBe(403);
  expect((await visit(service, jar, "/login")).text).not.toContain("https://wiki.example.org");
});

test("the Console displays the claim that gave a role", async () => {
  const { email, id } = await invite(service);
  await signIn(email, { groups: "staff" });
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const see = async (path: string) => (await visit(service, jar, `/console/${path}`)).text;
  const by = "by <bdi>&lt;Ours&gt;</bdi>";
  expect(await see(`people/${id}`)).toContain(by);
  expect(await see("apps/wiki/people")).toContain(by);
  const act = `apps/wiki/people/${id}`;
  expect(await see(act)).toContain("granted the current role");
  expect(await see(`${act}/revoke`)).toContain("The next sign-in grants it again");
});
