/** People who sign in with a provider: invited without a password, signed in through the provider's pages. @module */
import { createUser, grantRole } from "../../src/records/people/mod.ts";
import { testDeps } from "./deps.ts";
import { type Jar, type Person, type VisitedService, visit } from "./people.ts";
import { passProvider } from "./provider.ts";
import type { TestResponse, TestService } from "./service.ts";

/** Invites a person without a password, with an optional role on an app. */
export async function invite(
  { service, secrets }: TestService,
  slug?: string,
  consoleRole?: "admin" | "super_admin",
): Promise<Person & { linkText: string }> {
  const email = `invited-${crypto.randomUUID().slice(-12)}@example.org`;
  const { id, linkText } = await createUser(testDeps(service), {
    email,
    displayName: undefined,
    consoleRole,
  });
  secrets.add(linkText);
  if (slug !== undefined)
    await grantRole({ admin: service.admin }, { email, slug, role: "member" });
  return { id, email, linkText };
}

/** Signs in at the provider and returns the path of the callback. */
export async function comeBack(
  service: VisitedService,
  jar: Jar,
  { login, path = "/oidc/ours" }: { login: string; path?: string },
): Promise<string> {
  const start = await visit(service, jar, path);
  const location = start.headers.get("location");
  if (location === null) throw new Error(`Not sent to the provider: ${start.status} ${start.text}`);
  const callback = await passProvider(location, { login });
  return callback.slice(service.url.length);
}

/** Signs in through the provider's pages and returns the callback's response. */
export async function signInWith(
  service: VisitedService,
  jar: Jar,
  options: { login: string; path?: string },
): Promise<TestResponse> {
  return await visit(service, jar, await comeBack(service, jar, options));
}
