/** Passkeys through the pages: the page's options, an authenticator's response, and the form with it. @module */
import { type Authenticator, type Lies, makeAuthenticator } from "./authenticator.ts";
import {
  type Jar,
  makePerson,
  type Person,
  readHidden,
  signInAs,
  type VisitedService,
  visit,
} from "./people.ts";
import { readCodes } from "./second_factor.ts";
import type { TestResponse, TestService } from "./service.ts";

export const PASSKEYS = "/account/security/passkeys";

/** Returns the service under the host name that browsers accept without HTTPS. */
export function toNamed(service: TestService): TestService {
  return { ...service, url: service.url.replace("127.0.0.1", "localhost") };
}

export type Asked = Parameters<Authenticator["get"]>[0];

/** Returns the options that the page passes to the browser; `undefined` if it asks for no passkey. */
export function readAsked({ text }: TestResponse): Asked | undefined {
  const [, json] = /data-options="([^"]*)"/.exec(text) ?? [];
  return json === undefined ? undefined : (JSON.parse(json.replaceAll("&quot;", '"')) as Asked);
}

export type PasskeySubmission = { authenticator: Authenticator; path?: string; lies?: Lies };

export async function submitPasskey(
  service: VisitedService,
  jar: Jar,
  { authenticator, path = "/login", lies }: PasskeySubmission,
): Promise<TestResponse> {
  const page = await visit(service, jar, path);
  const asked = readAsked(page);
  if (asked === undefined) throw new Error(`No passkey is asked for: ${page.status} ${page.text}`);
  return await sendPasskey(service, jar, { page, path, passkey: authenticator.get(asked, lies) });
}

export async function sendPasskey(
  service: VisitedService,
  jar: Jar,
  { page, path = "/login", passkey }: { page: TestResponse; path?: string; passkey: string },
): Promise<TestResponse> {
  const { form_token = "" } = readHidden(page.text);
  return await visit(service, jar, path, { fields: { form_token, passkey } });
}

export async function addPasskey(
  service: VisitedService & Partial<Pick<TestService, "secrets">>,
  jar: Jar,
  {
    authenticator,
    lies,
    label = "laptop",
    path = PASSKEYS,
  }: { authenticator: Authenticator; lies?: Lies; label?: string; path?: string },
): Promise<TestResponse> {
  const page = await visit(service, jar, path);
  const asked = readAsked(page);
  if (asked === undefined) throw new Error(`No passkey is asked for: ${page.status} ${page.text}`);
  const { form_token = "" } = readHidden(page.text);
  const passkey = authenticator.create(asked, lies);
  const response = await visit(service, jar, path, { fields: { form_token, label, passkey } });
  for (const code of readCodes(response.text)) service.secrets?.add(code);
  return response;
}

export type Holder = {
  person: Person;
  jar: Jar;
  authenticator: Authenticator;
  /** The recovery codes that the page displayed with the passkey. */
  codes: string[];
};

/** Creates a person with a passkey and signs them in. */
export async function makeHolder(
  service: TestService,
  options: Parameters<typeof makePerson>[1] = {},
): Promise<Holder> {
  const person = await makePerson(service, options);
  const jar = await signInAs(service, person);
  const authenticator = makeAuthenticator(service.url);
  const added = await addPasskey(service, jar, { authenticator });
  const codes = readCodes(added.text);
  if (codes.length === 0) throw new Error(`No passkey was added: ${added.status} ${added.text}`);
  return { person, jar, authenticator, codes };
}
