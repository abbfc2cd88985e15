/** Visits of people: sign-in, account settings and the Console. @module */
import { setAppSwitch } from "../../../src/records/apps/mod.ts";
import { createUser } from "../../../src/records/people/mod.ts";
import { makeAuthenticator } from "../authenticator.ts";
import { testDeps } from "../deps.ts";
import { addPasskey, PASSKEYS, submitPasskey } from "../passkeys.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  readToken,
  signInAs,
  submitSignIn,
  toCookieHeader,
  visit,
} from "../people.ts";
import { exchange, openToBrowsers, type PersonKey } from "../person_keys.ts";
import { passProvider } from "../provider.ts";
import { signInWith } from "../provider_people.ts";
import { enrol, enterFactor, SECURITY } from "../second_factor.ts";
import type { TestService } from "../service.ts";
import { type ToPage, tourChanges, tourConsole } from "./console.ts";
import type { Ask, Toured } from "./mod.ts";

/** Signs a new administrator in, opens every page and submits every form. */
export async function tourPages(toured: Toured, ask: Ask): Promise<void> {
  const { service, app } = toured;
  const jar: Jar = new Map();
  const page: ToPage = (path, fields) =>
    ask(() => visit(service, jar, path, fields === undefined ? undefined : { fields }));
  const { email, link } = await makeInvited(service);
  const password = "seven slow green boats";
  const hidden = readHidden((await page(link)).text);
  await page("/set-password", { ...hidden, password });
  for (const path of ["/", "/login"]) await page(path);
  const target = new URLSearchParams({ app: app.slug, redirect_uri: "https://app.example.org/" });
  const path = `/authorize?${target}`;
  await ask(() => submitSignIn(service, new Map(), { path, email, password }));
  await page(path);
  await ask(() => submitSignIn(service, new Map(), { email, password }));
  const form_token = readToken((await page("/forgot")).text);
  await page("/forgot", { form_token, email });
  const me = `/v1/auth/me?app=${app.slug}`;
  await ask(() => service.call(undefined, me, { headers: { cookie: toCookieHeader(jar) } }));
  await setAppSwitch(service.service, app.slug, ["people_list", true]);
  const people = `/v1/auth/people?app=${app.slug}`;
  await ask(() => service.call(undefined, people, { headers: { cookie: toCookieHeader(jar) } }));
  await tourPersonKey(toured, ask, jar);
  const consoleSignIn = "/console/sign-in";
  await ask(() => submitSignIn(service, jar, { path: consoleSignIn, email, password }));
  await tourConsole(service, page);
  await tourChanges(service, jar);
  await tourAccount(page, password);
  const { app: authenticator } = await enrol(service, jar);
  const submitSecurity = async (action: string) =>
    await page(SECURITY, { ...readHidden((await page(SECURITY)).text), act: action });
  await submitSecurity("codes");
  const waiting: Jar = new Map();
  await ask(() => submitSignIn(service, waiting, { email, password }));
  const wrong = authenticator.code().replace(/^./, (digit) => String((Number(digit) + 1) % 10));
  await enterFactor(service, waiting, { code: wrong });
  await ask(() => enterFactor(service, waiting, { code: authenticator.code() }));
  await page("/add-second-factor");
  await submitSecurity("remove");
  await tourPasskeys(service, ask);
  await tourProvider(toured, ask);
  const everywhere = { form_token: readToken((await page("/sign-out")).text), everywhere: "yes" };
  await page("/sign-out", everywhere);
  const other: Jar = new Map();
  await ask(() => submitSignIn(service, other, { email, password }));
  await ask(() =>
    service.call(undefined, "/v1/auth/logout", {
      method: "POST",
      headers: { cookie: toCookieHeader(other) },
    }),
  );
}

/** A page of the app opens a key of its person, whom the app's server reads. */
async function tourPersonKey({ service, app }: Toured, ask: Ask, jar: Jar): Promise<void> {
  await openToBrowsers(service, app);
  const asked = { cookies: jar, app, origin: "https://app.example.org" };
  const { json } = await ask(() => exchange(service, asked));
  const { key } = json as PersonKey;
  await ask(() => service.call(undefined, `/v1/data/me?app=${app.slug}`, { key }));
}

async function tourAccount(page: ToPage, password: string): Promise<void> {
  for (const [path, typed] of [
    ["/account", { name: "Toured", picture: "" }],
    ["/account/password", { present: password, password }],
    ["/account/sessions", { session: "others" }],
    ["/account/linked", { provider: "ours", act: "link" }],
  ] as const) {
    const { text } = await page(path);
    // The list of sessions has a form only if other sessions exist.
    const formPage = text.includes("form_token") ? text : (await page("/account")).text;
    await page(path, { ...typed, form_token: readToken(formPage) });
  }
}

/** Adds, uses, renames and removes a passkey. */
async function tourPasskeys(service: TestService, ask: Ask): Promise<void> {
  const jar = await signInAs(service, await makePerson(service));
  const authenticator = makeAuthenticator(service.url);
  await ask(() => addPasskey(service, jar, { authenticator }));
  await ask(() => submitPasskey(service, new Map(), { authenticator }));
  const { text } = await ask(() => visit(service, jar, PASSKEYS));
  const [, ref = ""] = /name="ref" value="([0-9a-f]+)"/.exec(text) ?? [];
  const { form_token = "" } = readHidden(text);
  for (const act of ["rename", "remove"]) {
    const fields = { form_token, act, ref, label: "renamed" };
    await ask(() => visit(service, jar, PASSKEYS, { fields }));
  }
}

/** Signs in with a provider, without and with an account, and links and unlinks an account. */
async function tourProvider({ service, provider }: Toured, ask: Ask): Promise<void> {
  const page = "/account/linked";
  provider.accounts.set("unconfirmed", { email: "x@example.org", email_verified: false });
  await signInWith(service, new Map(), { login: "unconfirmed" });
  const provided: Jar = new Map();
  await ask(() => visit(service, provided, "/oidc/ours"));
  await ask(() => signInWith(service, provided, { login: "provided" }));
  provider.accounts.set("linked", { email: "linked@example.com", email_verified: false });
  const jar = await signInAs(service, await makePerson(service));
  const submit = async (fields: Record<string, string>) =>
    await ask(() => visit(service, jar, page, { fields }));
  const { form_token = "" } = readHidden((await visit(service, jar, "/account")).text);
  const { text } = await submit({ form_token, act: "link", provider: provider.settings.name });
  const [, onward = ""] = /class="button button-primary" href="([^"]+)"/.exec(text) ?? [];
  const back = await passProvider(onward.replaceAll("&amp;", "&"), { login: "linked" });
  await ask(() => visit(service, jar, back.slice(service.url.length)));
  const asked = await ask(() => visit(service, jar, `${page}?remove=${provider.settings.name}`));
  await submit(readHidden(asked.text));
}

/** Creates a person who can open the app, with a password link. */
async function makeInvited(service: TestService): Promise<{ email: string; link: string }> {
  const email = "invited@example.org";
  const { linkText } = await createUser(testDeps(service.service), {
    email,
    displayName: undefined,
    consoleRole: "super_admin",
  });
  service.secrets.add(linkText);
  return { email, link: `/set-password?token=${linkText}` };
}
