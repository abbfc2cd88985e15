/** A password link signs the person in, and continues to the app that is stored with the link. */
import { expect, test } from "bun:test";
import { setAppSwitch, setTargets } from "../../src/records/apps/mod.ts";
import { invite, makePasswordLink } from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { mailTo, openMailServer } from "../support/mail_server.ts";
import { expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  readMe,
  sharedCookie,
  signInAs,
  submitForm,
  visit,
} from "../support/people.ts";
import { enrolPerson, enterFactor } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const NEW = "seven slow green boats";
const ORIGIN = "https://wiki.example.org";

const mails = await share(openMailServer());
const service = await share(
  openTestService({
    identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, cookieDomain: "example.org" }),
    service: {
      mail: mailTo(mails),
    },
  }),
);

const deps = () => testDeps(service.service);

/** The path of an invitation's link to a new app. */
async function makeInvitation({ origins = [] as string[] } = {}) {
  const app = await service.makeApp(undefined, { origins });
  const email = `new-${crypto.randomUUID().slice(-8)}@example.org`;
  const { linkText = "" } = await invite(deps(), {
    email,
    displayName: undefined,
    slug: app.slug,
    role: "reader",
  });
  service.secrets.add(linkText);
  return { app, email, path: `/set-password?token=${linkText}` };
}

/** Sets the password by a link, in one browser. */
async function accept(path: string, jar: Jar = new Map()) {
  const page = await visit(service, jar, path);
  const fields = { ...readHidden(page.text), password: NEW };
  const response = await visit(service, jar, "/set-password", { fields });
  return { page, response, location: response.headers.get("location"), jar };
}

const readUser = (jar: Jar, slug: string) => readMe(service, jar, slug);

/** Waits for the reset email, and returns its path. The email to a new account also has a link. */
async function readMailedPath(email: string): Promise<string> {
  const find = () =>
    mails.received.find(
      ({ to, headers }) => to.includes(email) && headers.get("subject") === "Set a new password",
    );
  await eventually(() => find() !== undefined);
  return /(\/set-password\S+)/.exec(find()?.text ?? "")?.[1] ?? "";
}

test("an invitation to an app signs the person in and opens the app", async () => {
  const { app, path } = await makeInvitation({ origins: [ORIGIN] });
  const { page, response, location, jar } = await accept(path);
  expect(page.headers.get("content-security-policy")).toContain(`form-action 'self' ${ORIGIN}`);
  expect([response.status, location]).toEqual([303, `${ORIGIN}/`]);
  const me = await readUser(jar, app.slug);
  expect([me.status, me.json]).toMatchObject([200, { role: "reader" }]);
});

test.each<[name: string, origins: string[], change: (slug: string) => Promise<unknown>]>([
  ["has no address", [], async () => undefined],
  [
    "has moved since",
    ["https://old.example.org"],
    (slug) =>
      setTargets(deps(), {
        ...{ slug, replaced: ["origin"], cookieDomain: "example.org" },
        add: { origins: ["https://new.example.org"], redirects: [] },
        remove: { origins: [], redirects: [] },
      }),
  ],
  [
    "is disabled",
    ["https://off.example.org"],
    (slug) => setAppSwitch(deps(), slug, ["disabled", true]),
  ],
])("an invitation to an app that %s leads to the account page", async (_, origins, change) => {
  const { app, path } = await makeInvitation({ origins });
  await change(app.slug);
  const { page, location, jar } = await accept(path);
  expect(page.headers.get("content-security-policy")).toContain("form-action 'self';");
  expect(location).toBe("/login?done=password");
  expect((await visit(service, jar, location ?? "")).text).toContain("Password set");
});

test("a reset returns to the app's page where the person asked for it", async () => {
  const app = await service.makeApp(undefined, { origins: [ORIGIN] });
  const person = await makePerson(service);
  const old = await signInAs(service, person);
  const target = new URLSearchParams({ app: app.slug, redirect_uri: `${ORIGIN}/pages?id=7` });
  const signIn = await visit(service, new Map(), `/authorize?${target}`);
  const [, forgot = ""] = /href="(\/forgot\?[^"]+)"/.exec(signIn.text) ?? [];
  const typed = { email: person.email };
  const path = forgot.replaceAll("&amp;", "&");
  const asked = await submitForm(service, new Map(), { path, typed });
  expect(asked.status).toBe(303);
  const sent = await visit(service, new Map(), asked.headers.get("location") ?? "");
  expect(sent.text.replaceAll("&amp;", "&")).toContain(`/authorize?${target}`);
  const { response, jar } = await accept(await readMailedPath(person.email));
  expectRedirect(response, `${ORIGIN}/pages?id=7`);
  expect((await readUser(jar, app.slug)).status).not.toBe(401);
  expect((await readUser(old, app.slug)).status).toBe(401);
});

test.each([
  "https://evil.example.net/",
  "https://wiki.example.org.evil.net/",
  "//evil.example.net",
  "javascript:alert(1)",
])("a reset does not return to %s", async (uri) => {
  const app = await service.makeApp(undefined, { origins: [ORIGIN] });
  const query = new URLSearchParams({ app: app.slug, redirect_uri: uri });
  expect((await visit(service, new Map(), `/forgot?${query}`)).status).toBe(400);
});

test("no link signs in a person with a second factor before the factor", async () => {
  const person = await makePerson(service);
  const { codes, jar: old } = await enrolPerson(service, person);
  const { linkText } = await makePasswordLink(deps(), person.email);
  service.secrets.add(linkText);
  const { location, jar } = await accept(`/set-password?token=${linkText}`);
  expect(location).toBe("/second-factor");
  expect((await visit(service, jar, "/account")).status).toBe(303);
  expect((await visit(service, old, "/account")).status).toBe(303);
  expectRedirect(await enterFactor(service, jar, { recovery: codes[0] ?? "" }), "/login");
  expect((await visit(service, jar, "/account")).status).toBe(200);
});

test("a link ends the sessions of another person in the same browser", async () => {
  const jar = await signInAs(service, await makePerson(service));
  const before = sharedCookie(jar);
  const { email, path } = await makeInvitation();
  await accept(path, jar);
  expect((await visit(service, jar, "/login")).text).toContain(email);
  const headers = { cookie: before };
  expect((await service.call(undefined, "/v1/auth/me", { headers })).status).toBe(401);
});
