/** Invitations by commands, with email: the actions that each state allows, and the people that they do not affect. */
import { afterAll, describe, expect, test } from "bun:test";
import { setPasswordByLink } from "../../src/identity/mod.ts";
import { makePasswordRecord } from "../../src/identity/passwords/password.ts";
import { readList } from "../../src/records/actions/mod.ts";
import {
  findPasswordLink,
  giveConsoleRole,
  grantRole,
  invitationList,
  invite,
  makePasswordLink,
  removeConsoleRole,
  resendInvitation,
  setDisabled,
  showUser,
  usePasswordLink,
  withdrawInvitation,
} from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { listAudit } from "../support/lists.ts";
import type { MailServer, Received } from "../support/mail_server.ts";
import { openMailService } from "../support/mail_service.ts";
import { makePerson, submitForm, visit } from "../support/people.ts";
import type { TestService } from "../support/service.ts";

let mails: MailServer;
let service: TestService;
let close: () => Promise<void>;
({ mails, service, close } = await openMailService());
const [app, other] = [await service.makeApp(), await service.makeApp()];
afterAll(() => close());

const OWN = "seven slow green boats";
const deps = () => testDeps(service.service);
const newEmail = () => `invited-${crypto.randomUUID().slice(-12)}@example.org`;

function query<Row>(text: string, values: string[] = []): Promise<Row[]> {
  return service.query<Row>(text, values);
}

async function inviteTo(
  email = newEmail(),
  { slug, role = "editor" } = { slug: app.slug, role: "editor" },
) {
  const made = await invite(deps(), { email, slug, role, displayName: undefined });
  service.secrets.add(made.linkText ?? "none");
  return { ...made, email, link: made.linkText ?? "" };
}

async function find(email: string) {
  const { invitations } = await readList(deps(), invitationList);
  return invitations.find((one) => one.email === email);
}

const open = async (link: string) =>
  (await visit(service, new Map(), `/set-password?token=${link}`)).status;

const accept = (link: string) =>
  setPasswordByLink({ ...deps(), db: service.service.db }, link, OWN);

const expire = (email: string) =>
  query(
    "update rowhouse.password_links set expires_at = now() - interval '1 day' where user_id = (select id from rowhouse.users where email = $1)",
    [email],
  );

const actsOn = async (id: string) =>
  (await listAudit(deps(), 500)).filter(({ userId }) => userId === id).map(({ action }) => action);

test("an invitation is pending, with its app and its email, until it is accepted", async () => {
  const { email, link, outcome } = await inviteTo();
  expect(outcome).toBe("mailed");
  expect(await mails.waitFor(email)).toHaveLength(1);
  await eventually(async () => (await find(email))?.mail === "sent");
  expect(await find(email)).toMatchObject({
    state: "pending",
    invitedBy: "operator",
    roles: [{ app: app.slug, role: "editor" }],
    roleCount: 1,
    mailedAt: expect.any(String),
  });
  expect((await showUser(deps(), email)).invitationState).toBe("pending");
  expect(await accept(link)).toBe(true);
  expect(await find(email)).toBeUndefined();
  expect((await showUser(deps(), email)).invitationState).toBeNull();
});

test("an invitation to a second app adds the role, and the first link still works", async () => {
  const { email, link } = await inviteTo();
  const again = await inviteTo(email, { slug: other.slug, role: "reader" });
  expect([again.outcome, again.linkText, await open(link)]).toEqual(["added", undefined, 200]);
  expect((await find(email))?.roles).toContainEqual({ app: other.slug, role: "reader" });
});

test("inviting a person who can sign in grants the role without a link", async () => {
  const person = await makePerson(service);
  const made = await inviteTo(person.email);
  expect([made.outcome, made.linkText]).toEqual(["granted", undefined]);
  expect((await showUser(deps(), person.email)).grants).toMatchObject([{ app: app.slug }]);
  expect(await find(person.email)).toBeUndefined();
});

test("resending an invitation replaces its link, before and after the link expires", async () => {
  const { email, link } = await inviteTo();
  const second = await resendInvitation(deps(), email);
  await expire(email);
  expect([await find(email), await open(second.linkText)]).toMatchObject([
    { state: "expired" },
    404,
  ]);
  // Like another command that creates a link.
  const third = await makePasswordLink(deps(), email);
  for (const { linkText } of [second, third]) service.secrets.add(linkText);
  const states = [await open(link), await open(second.linkText), await open(third.linkText)];
  expect([...states, (await find(email))?.state]).toEqual([404, 404, 200, "pending"]);
  // An email with a replaced link can be dropped: only the last email is certain to arrive.
  const isLast = ({ text }: Received) => text.includes(third.linkText);
  await eventually(() => mails.received.some(isLast));
  const sent = await mails.waitFor(email);
  expect(new Set(sent.map(({ headers }) => headers.get("subject")))).toEqual(
    new Set(["Your account: choose a password"]),
  );
  const { id } = await showUser(deps(), email);
  expect(await actsOn(id)).toEqual([
    "resend_invitation",
    "resend_invitation",
    "grant",
    "create_user",
  ]);
});

test("an address gets max five emails in an hour, even after withdrawn invitations", async () => {
  const { email } = await inviteTo();
  const outcomes: boolean[] = [];
  for (let round = 0; round < 5; round++) {
    await withdrawInvitation(deps(), email);
    const { outcome, link } = await inviteTo(email);
    outcomes.push(outcome === "mailed");
    expect(await open(link)).toBe(200);
  }
  expect(outcomes).toEqual([true, true, true, true, false]);
  expect((await find(email))?.mail).toBeNull();
  expect((await resendInvitation(deps(), email)).isMailed).toBe(false);
});

test("withdrawing an invitation ends the link and deletes the person, and the audit log retains the id", async () => {
  const { email, link } = await inviteTo();
  const { id } = await showUser(deps(), email);
  await withdrawInvitation(deps(), email.toUpperCase());
  expect([await open(link), await find(email)]).toEqual([404, undefined]);
  await expect(showUser(deps(), email)).rejects.toThrow("No user has the address");
  expect((await actsOn(id))[0]).toBe("withdraw_invitation");
  // A withdrawn link and an unknown link show the same page.
  const [withdrawn, unknown] = await Promise.all(
    [link, `aaaaaaaaaaaaaaaa.${"a".repeat(43)}`].map((text) =>
      visit(service, new Map(), `/set-password?token=${text}`),
    ),
  );
  expect(withdrawn?.text).toBe(unknown?.text ?? "");
  expect(withdrawn?.text).toContain("withdrawn, or has expired");
});

describe("an invitation action is rejected:", () => {
  const acts = [
    { act: "resend", run: (email: string) => resendInvitation(deps(), email) },
    { act: "withdraw", run: (email: string) => withdrawInvitation(deps(), email) },
  ];
  test.each(acts)("$act after the person accepted", async ({ run }) => {
    const person = await makePerson(service);
    const before = await showUser(deps(), person.email);
    await expect(run(person.email)).rejects.toThrow("has no pending invitation: it was accepted");
    expect(await showUser(deps(), person.email)).toEqual(before);
  });

  test("resend to a disabled account, whose link stays expired after it is enabled", async () => {
    const { email, link } = await inviteTo();
    await setDisabled(deps(), email, true);
    await expect(resendInvitation(deps(), email)).rejects.toThrow("the account is disabled");
    await setDisabled(deps(), email, false);
    expect([await open(link), (await find(email))?.state]).toEqual([404, "expired"]);
  });

  test("withdraw from the only invited super_admin", async () => {
    const { email } = await inviteTo();
    await giveConsoleRole(deps(), email, "super_admin");
    await expect(withdrawInvitation(deps(), email)).rejects.toThrow("the last super_admin");
    // A person who cannot sign in does not count as another super_admin.
    const boss = await makePerson(service, { consoleRole: "super_admin" });
    await expect(removeConsoleRole(deps(), boss.email)).rejects.toThrow("the last super_admin");
    await withdrawInvitation(deps(), email);
  });
});

test("an invitation that is accepted and withdrawn simultaneously has one outcome", async () => {
  const both = { ...deps(), db: service.service.db };
  for (let round = 0; round < 8; round++) {
    const { email, link } = await inviteTo();
    const found = await findPasswordLink(both, link);
    if (found === undefined) throw new Error("The link is not there");
    // Hashing is slow, so the withdrawal would always be first.
    const record = await makePasswordRecord(both, found.userId, OWN);
    const [isAccepted, isWithdrawn] = await Promise.all([
      usePasswordLink(both, found, record),
      withdrawInvitation(deps(), email).then(
        () => true,
        () => false,
      ),
    ]);
    expect(isAccepted).toBe(!isWithdrawn);
    const left = await query("select from rowhouse.users where email = $1", [email]);
    expect(left.length).toBe(isAccepted ? 1 : 0);
  }
});

test("a password reset request does not end an invitation", async () => {
  const { email, link } = await inviteTo();
  const asked = await submitForm(service, new Map(), { path: "/forgot", typed: { email } });
  expect(asked.status).toBe(303);
  await eventually(async () => {
    const left = await query("select from rowhouse.mails where template = 'forgotten_password'");
    return left.length === 0;
  });
  expect([await open(link), (await mails.waitFor(email)).length]).toEqual([200, 1]);
});

test("a rejected invitation lists every issue", async () => {
  const options = { email: "ada", slug: "no-such-app", role: "No role", displayName: undefined };
  const error = await invite(deps(), options).catch((thrown) => thrown);
  expect(error.details.map(({ message }: { message: string }) => message)).toEqual(
    ["Cannot use the address", "Cannot grant the role", "No app has the slug"].map((issue) =>
      expect.stringContaining(issue),
    ),
  );
});

describe("a rejected grant lists every issue:", () => {
  const email = "nobody@example.org";
  const role = "No role";
  test.each([
    {
      name: "an unknown address, an unknown app and an invalid role",
      options: { email, slug: "no-such-app", role },
      issues: ["No user has the address", "No app has the slug", "Cannot grant the role"],
    },
    {
      name: "an unknown address and an invalid role",
      options: { email, role },
      issues: ["No user has the address", "Cannot grant the role"],
    },
    {
      name: "an invalid address and an invalid role",
      options: { email: "ada", role },
      issues: ["Cannot use the address", "Cannot grant the role"],
    },
    { name: "an invalid role", options: { role }, issues: ["Cannot grant the role"] },
  ])("$name", async ({ options, issues }) => {
    const person = await makePerson(service);
    const grant = { email: person.email, slug: app.slug, ...options };
    const error = await grantRole(deps(), grant).catch((thrown) => thrown);
    const said = error.details?.map(({ message }: { message: string }) => message) ?? [
      error.message,
    ];
    expect(said).toEqual(issues.map((issue) => expect.stringContaining(issue)));
    expect((await showUser(deps(), person.email)).grants).toEqual([]);
  });
});
