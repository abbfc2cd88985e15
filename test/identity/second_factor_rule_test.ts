/** The second factor: people who need one, pages that require it, resets, and sign-in with a provider. */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { runOnPerson } from "../../src/records/people/mod.ts";
import { FACTOR_GRACE_S } from "../../src/std/limits.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { expectRedirect } from "../support/page_text.ts";
import { type Jar, makePerson, signInAs, submitSignIn, visit } from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { invite, signInWith } from "../support/provider_people.ts";
import {
  enrol,
  enrolPerson,
  enterFactor,
  passPassword,
  SECURITY,
} from "../support/second_factor.ts";
import { openBeside, openTestService, type TestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** One service with a provider and no setting, and one with a setting that asks every person. */
const ours = await share(startProvider({ name: "ours", trustedDomains: ["example.org"] }));
const [usual, strict] = await Promise.all([
  share(
    openTestService({
      identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, providers: [ours.settings] }),
    }),
  ),
  share(
    openTestService({
      identity: () => ({ cookieDomain: "example.org", requireSecondFactor: "all" as const }),
    }),
  ),
]);
ours.register(`${usual.url}/oidc/ours/callback`);
const app = await strict.makeApp(undefined, { origins: ["https://app.example.org"] });

async function write<Row>({ service }: TestService, text: string, id: string): Promise<Row[]> {
  return await readRows<Row>(service.admin, text, [id]);
}
const putOff = (service: TestService, id: string) =>
  write(
    service,
    `update rowhouse.users set factor_asked_at = now() - interval '${FACTOR_GRACE_S} seconds' where id = $1::text::uuid`,
    id,
  );
const toLocation = async (service: TestService, jar: Jar, path: string) =>
  (await visit(service, jar, path)).headers.get("location");

test("administrators of a service with a provider can defer a second factor for a week, and no longer", async () => {
  const person = await makePerson(usual, { consoleRole: "admin" });
  const jar: Jar = new Map();
  const path = "/console/sign-in?to=%2Fconsole%2Fapps";
  const ask = "/add-second-factor?to=%2Fconsole%2Fapps";
  const response = await submitSignIn(usual, jar, { email: person.email, path });
  expectRedirect(response, ask);
  expect((await visit(usual, jar, ask)).text).toContain('href="/console/apps">Later</a>');
  expect((await visit(usual, jar, "/console/apps")).text).toContain("requires a second factor");
  await putOff(usual, person.id);
  expect(await toLocation(usual, jar, "/console/apps")).toBe(ask);
  expect((await visit(usual, jar, ask)).text).not.toContain("Later");
  expect((await visit(usual, jar, "/account")).status).toBe(200);
  const { response: added } = await enrol(usual, jar, { query: "?to=%2Fconsole%2Fapps" });
  expect(added.text).toContain('href="/console/apps">I have saved them</a>');
  const { status, text } = await visit(usual, jar, "/console/apps");
  expect([status, text.includes("requires a second factor")]).toEqual([200, false]);
});

test("people who need no factor are not asked, even after an earlier requirement", async () => {
  const person = await makePerson(usual);
  await putOff(usual, person.id);
  const response = await submitSignIn(usual, new Map(), { email: person.email });
  expect(response.headers.get("location")).toBe("/login");
  const read = "select factor_asked_at as at from rowhouse.users where id = $1::text::uuid";
  expect(await write(usual, read, person.id)).toEqual([{ at: null }]);
});

test("a factor required for everyone leaves only the page that adds it after a week", async () => {
  const person = await makePerson(strict, { app });
  const jar = await signInAs(strict, person);
  const target = `?app=${app.slug}&redirect_uri=https%3A%2F%2Fapp.example.org%2F`;
  expect(await toLocation(strict, jar, `/authorize${target}`)).toBe("https://app.example.org/");
  const me = `/v1/auth/me?app=${app.slug}`;
  expect((await visit(strict, jar, me)).status).toBe(200);
  await putOff(strict, person.id);
  expect((await visit(strict, jar, me)).status).toBe(401);
  for (const path of ["/login", "/account", "/account/password", "/account/sessions"])
    expect([path, await toLocation(strict, jar, path)]).toEqual([path, "/add-second-factor"]);
  expect(await toLocation(strict, jar, `/authorize${target}`)).toBe(`/add-second-factor${target}`);
  expect((await visit(strict, jar, `/add-second-factor${target}`)).text).not.toContain("Later");
  expect((await visit(strict, jar, SECURITY)).status).toBe(200);
  await enrol(strict, jar);
  expect(await toLocation(strict, jar, `/authorize${target}`)).toBe("https://app.example.org/");
  expect((await visit(strict, jar, me)).status).toBe(200);
});

test("a valid response of a provider also requires the second factor", async () => {
  const person = await invite(usual);
  ours.accounts.set("factored", { email: person.email, email_verified: true });
  const jar: Jar = new Map();
  // The page asks for the second factor although the provider has just asked for one.
  const path = `/oidc/ours?${new URLSearchParams({ to: SECURITY })}`;
  const first = await signInWith(usual, jar, { login: "factored", path });
  expect(first.headers.get("location")).toBe(SECURITY);
  const { app: authenticator } = await enrol(usual, jar);
  const other: Jar = new Map();
  const waits = await signInWith(usual, other, { login: "factored" });
  expect(waits.headers.get("location")).toBe("/second-factor");
  expect(other.has(SESSION_COOKIE)).toBe(false);
  await enterFactor(usual, other, { code: authenticator.code() });
  expect((await visit(usual, other, "/account")).status).toBe(200);
});

test("resetting a lost factor ends sessions, makes the password sufficient, and sends emails", async () => {
  const person = await makePerson(strict);
  await strict.service.admin.message(
    "insert into rowhouse.mail_sender (seen_at) values (now()) on conflict do nothing; select 1",
  );
  const { jar, codes } = await enrolPerson(strict, person);
  const { jar: recovered } = await passPassword(strict, person);
  await enterFactor(strict, recovered, { recovery: codes[0] ?? "" });
  const { jar: waiting } = await passPassword(strict, person);
  await runOnPerson(strict.service, "reset_second_factor", person.email);
  for (const one of [jar, recovered]) expect((await visit(strict, one, SECURITY)).status).toBe(303);
  expect((await visit(strict, waiting, "/second-factor")).status).toBe(303);
  const free = await signInAs(strict, person);
  expect((await visit(strict, free, SECURITY)).text).toContain("not set up");
  const mails =
    "select template from rowhouse.mails where user_id = $1::text::uuid and template ~ 'second|recovery' order by id";
  expect(
    (await write<{ template: string }>(strict, mails, person.id)).map(({ template }) => template),
  ).toEqual(["second_factor_added", "recovery_code_used", "second_factor_reset"]);
  await strict.service.admin.message("delete from rowhouse.mail_sender; select 1");
});

test("a new secret seals a factor again on use, and accepts earlier recovery codes", async () => {
  const { person, app: authenticator, codes } = await enrolPerson(strict, await makePerson(strict));
  const next = "another secret of the tests: 32 bytes or more";
  const secrets = { identitySecrets: [next, TEST_IDENTITY_SECRET] };
  await using over = await openBeside(strict, secrets);
  const secretIds = async () =>
    await write(
      strict,
      "select secret_id from rowhouse.totp_factors where user_id = $1::text::uuid",
      person.id,
    );
  const before = await secretIds();
  for (const typed of [
    { code: authenticator.code() },
    { code: authenticator.code({ steps: 1 }) },
    { recovery: codes[0] ?? "" },
  ]) {
    const { jar } = await passPassword(over, person);
    expect((await enterFactor(over, jar, typed)).status).toBe(303);
  }
  expect(await secretIds()).not.toEqual(before);
});
