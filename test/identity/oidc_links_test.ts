/** A signed-in person links and unlinks an account at a provider. */
import { beforeEach, describe, expect, test } from "bun:test";
import { showUser } from "../../src/records/people/mod.ts";
import { RECENT_SIGN_IN } from "../../src/std/limits.ts";
import { listEvents } from "../support/audit_events.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  readHidden,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { passProvider, startProvider } from "../support/provider.ts";
import { invite, signInWith } from "../support/provider_people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const PAGE = "/account/linked";
const ours = await share(startProvider({ name: "ours", trustedDomains: ["example.org"] }));
const other = await share(startProvider({ name: "other" }));
const service = await share(
  openTestService({
    identity: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      providers: [ours.settings, other.settings],
    }),
  }),
);
for (const one of [ours, other]) one.register(`${service.url}/oidc/${one.settings.name}/callback`);
beforeEach(() => {
  ours.wrong = undefined;
});

const ASKS = `${PAGE}?remove=ours`;

/** Sends the form of a provider, even if the page does not show it: all forms of a person have the same token. */
async function send(jar: Jar, act: "link" | "unlink", provider = "ours"): Promise<TestResponse> {
  const { form_token = "" } = readHidden((await visit(service, jar, "/account")).text);
  return await visit(service, jar, PAGE, { fields: { form_token, act, provider } });
}

/** Unlinks like a person: by the confirmation page that the list links to. */
async function unlink(jar: Jar): Promise<TestResponse> {
  expect((await visit(service, jar, PAGE)).text).toContain(`href="${ASKS}"`);
  const asked = await visit(service, jar, ASKS);
  expectPage(asked, 200, "will no longer sign you in");
  return await visit(service, jar, PAGE, { fields: readHidden(asked.text) });
}

/** The destination of the page in between. */
function readOnward({ text }: TestResponse): string {
  const [, href = ""] = /class="button button-primary" href="([^"]+)"/.exec(text) ?? [];
  return href.replaceAll("&amp;", "&");
}

async function link(jar: Jar, login: string, provider = "ours"): Promise<TestResponse> {
  const onward = readOnward(await send(jar, "link", provider));
  const back = await passProvider(onward, { login });
  return await visit(service, jar, back.slice(service.url.length));
}

async function age(userId: string): Promise<void> {
  await service.query(
    `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where user_id = $1`,
    [userId],
  );
}

test("a person links an account, signs in with it, and unlinks it", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  expect((await visit(service, jar, PAGE)).text).toContain("not linked");
  // The address needs no check: the person creates the link.
  ours.accounts.set("link-1", { email: "somebody@example.com", email_verified: false });
  const done = await link(jar, "link-1");
  expectRedirect(done, `${PAGE}?done=link`);
  expect((await visit(service, jar, `${PAGE}?done=link`)).text).toContain("Account linked.");
  expect((await showUser(service.service, person.email)).hasProvider).toBe(true);
  const elsewhere: Jar = new Map();
  expect((await signInWith(service, elsewhere, { login: "link-1" })).status).toBe(303);
  expect((await visit(service, elsewhere, "/login")).text).toContain(person.email);
  expect((await visit(service, jar, PAGE)).text).not.toContain('value="unlink"');
  const undone = await unlink(jar);
  expect(undone.headers.get("location")).toBe(`${PAGE}?done=unlink`);
  expect((await signInWith(service, new Map(), { login: "link-1" })).status).toBe(403);
  expect(await listEvents(service, person.id)).toEqual(
    expect.arrayContaining(["link_provider ours", "sign_in ours", "unlink_provider ours"]),
  );
});

test("a page offers to unlink only linked accounts, and names the requirement", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const words = `within the last ${RECENT_SIGN_IN}`;
  await link(jar, "all-1");
  await age(person.id);
  expect((await visit(service, jar, PAGE)).text).toContain(words);
  const again = await signInAs(service, person);
  await link(again, "all-2", "other");
  await age(person.id);
  expect((await visit(service, again, PAGE)).text).not.toContain(words);
});

describe("the service rejects a link", () => {
  test("to an account of another person", async () => {
    const owner = await signInAs(service, await makePerson(service));
    await link(owner, "link-2");
    const jar = await signInAs(service, await makePerson(service));
    expectPage(await link(jar, "link-2"), 403, "already linked to another person");
  });

  test("to a second account of a provider, and ignores a repeated link of the same account", async () => {
    const jar = await signInAs(service, await makePerson(service));
    await link(jar, "link-3");
    expect((await link(jar, "link-3")).status).toBe(303);
    expectPage(await link(jar, "link-4"), 403, "Unlink it first");
  });

  test("when the sign-in is no longer recent, before and after the visit to the provider", async () => {
    const person = await makePerson(service);
    const jar = await signInAs(service, person);
    const onward = readOnward(await send(jar, "link"));
    await age(person.id);
    const back = await passProvider(onward, { login: "link-5" });
    const response = await visit(service, jar, back.slice(service.url.length));
    expectPage(response, 403, `older than ${RECENT_SIGN_IN}`);
    const page = await visit(service, jar, PAGE);
    expect(page.text).toContain(`within the last ${RECENT_SIGN_IN}`);
    expect(page.text).not.toContain('value="link"');
  });

  test("after the browser signed out or changed users", async () => {
    for (const next of [await signInAs(service, await makePerson(service)), new Map()]) {
      const jar = await signInAs(service, await makePerson(service));
      const onward = readOnward(await send(jar, "link"));
      const back = await passProvider(onward, { login: "link-6" });
      const mixed: Jar = new Map([
        ...next,
        ...[...jar].filter(([name]) => name === "__Host-rowhouse_oidc"),
      ]);
      const response = await visit(service, mixed, back.slice(service.url.length));
      expectPage(response, 403, "no longer signed in to the account");
    }
    expect((await signInWith(service, new Map(), { login: "link-6" })).status).toBe(403);
  });

  test("without a form: the public start page signs in, and links nothing", async () => {
    const jar = await signInAs(service, await makePerson(service));
    const path = `/oidc/ours?${new URLSearchParams({ to: PAGE })}`;
    expect((await signInWith(service, jar, { login: "link-7", path })).status).toBe(403);
  });
});

test("a linked account sends an email, and its sign-ins send an email only on a new device", async () => {
  const person = await makePerson(service);
  await service.query("insert into rowhouse.mail_sender (seen_at) values (now())");
  const jar = await signInAs(service, person);
  await link(jar, "link-10");
  await signInWith(service, jar, { login: "link-10" });
  await signInWith(service, new Map(), { login: "link-10" });
  await service.query("delete from rowhouse.mail_sender");
  const rows = await service.query<{ template: string }>(
    "select template from rowhouse.mails where user_id = $1 order by id",
    [person.id],
  );
  expect(rows.map(({ template }) => template)).toEqual(["provider_linked", "new_device"]);
});

test("unlinking requires a recent sign-in", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  expect((await link(jar, "link-old")).status).toBe(303);
  await age(person.id);
  const again = `/login?${new URLSearchParams({ to: PAGE })}`;
  expect((await visit(service, jar, ASKS)).headers.get("location")).toBe(again);
  expect((await send(jar, "unlink")).headers.get("location")).toBe(again);
  expect((await visit(service, jar, PAGE)).text).toContain("Unlink");
  const response = await submitSignIn(service, jar, { email: person.email, path: again });
  expect(response.headers.get("location")).toBe(PAGE);
  expect((await unlink(jar)).headers.get("location")).toBe(`${PAGE}?done=unlink`);
});

test("the last sign-in method cannot be removed", async () => {
  const person = await invite(service);
  ours.accounts.set("link-8", { email: person.email, email_verified: true });
  const jar: Jar = new Map();
  await signInWith(service, jar, { login: "link-8" });
  for (const rejected of [await visit(service, jar, ASKS), await send(jar, "unlink")])
    expectPage(rejected, 422, "your only way to sign in");
  // A recent sign-in with one provider allows linking another. Then the first can be unlinked.
  expect((await visit(service, jar, PAGE)).text).toContain("sign in with <bdi>ours</bdi> again");
  const again = `/oidc/ours?${new URLSearchParams({ to: PAGE })}`;
  const fresh = await signInWith(service, jar, { login: "link-8", path: again });
  expect(fresh.headers.get("location")).toBe(PAGE);
  expect((await link(jar, "link-9", "other")).status).toBe(303);
  expect((await unlink(jar)).status).toBe(303);
});

test("an account that is not linked, or an unknown provider, cannot be unlinked", async () => {
  const jar = await signInAs(service, await makePerson(service));
  for (const name of ["ours", "other_session", ""]) {
    const { status, text } = await visit(service, jar, `${PAGE}?remove=${name}`);
    expect(status).toBe(200);
    expect(text).toContain("not linked");
    expect(text).not.toContain("Cancel");
  }
});

test("an unavailable provider does not block the page, and linking reports it", async () => {
  const gone = await startProvider({ name: "gone" });
  await gone.stop();
  await using fresh = await openTestService({
    identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, providers: [gone.settings] }),
  });
  const jar = await signInAs(fresh, await makePerson(fresh));
  const page = await visit(fresh, jar, PAGE);
  expect(page.status).toBe(200);
  const { form_token = "" } = readHidden(page.text);
  const fields = { form_token, act: "link", provider: "gone" };
  expect((await visit(fresh, jar, PAGE, { fields })).status).toBe(503);
});
