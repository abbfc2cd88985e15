/** Actions on several people: on all of them, or on none, with every issue of the list. For operators only. @module */
import type { Database } from "../../db/mod.ts";
import type { Detail } from "../../problem.ts";
import { callAsOperator, runAction } from "../actions/action.ts";
import { findIssues, toDuplicateText, unknownApp, unknownUser } from "../actions/rejections.ts";
import { toAskedSlug } from "../apps/keys.ts";
import { readEmail, toAddressValues } from "./addresses.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";
import { checkDisplayName } from "./people.ts";
import { checkRole } from "./roles.ts";

type Operator = { admin: Database };

/** A person of a list: an address and a name as typed, and where the list has it. */
export type ListedPerson = {
  readonly email: string;
  readonly name?: string | undefined;
  readonly path: string;
};
/** A person of a checked list. */
export type ChosenPerson = { email: string; displayName: string | undefined; isKnown: boolean };

/** What an action needs: people who exist, who do not, or both; an app, and a role on it. */
type Need = { people: "known" | "new" | "any"; slug?: string; role?: string };

/** The people of a list, with every issue that prevents the action. */
export async function readPeopleList(
  operator: Operator,
  listed: readonly ListedPerson[],
  { people: wanted, slug, role }: Need,
): Promise<{ people: ChosenPerson[]; issues: Detail[] }> {
  const issues: Detail[] = [];
  const add = (path: string, check: () => unknown) =>
    issues.push(...findIssues(check).map(({ message }) => ({ path, message })));
  const read = listed.flatMap(({ email: text, name = "", path }) => {
    add(path, () => readEmail(text));
    add(path, () => checkDisplayName(name));
    if (findIssues(() => readEmail(text)).length > 0) return [];
    return [{ email: readEmail(text), displayName: name === "" ? undefined : name, path }];
  });
  const mails = [...new Set(read.map(({ email }) => email))];
  const found = await runAction(operator, "find_addresses", { mails });
  const known = new Set(found.map(({ email }) => email));
  const seen = new Set<string>();
  const people = read.map(({ path, ...person }) => {
    const isKnown = known.has(person.email);
    if (seen.has(person.email)) issues.push({ path, message: `${person.email} is listed twice` });
    else if (wanted === "known" && !isKnown)
      issues.push({ path, message: unknownUser(person.email).message });
    else if (wanted === "new" && isKnown)
      issues.push({ path, message: toDuplicateText(person.email) });
    seen.add(person.email);
    return { ...person, isKnown };
  });
  if (role !== undefined) add("", () => checkRole(role));
  if (slug !== undefined) {
    const app = await runAction(operator, "find_app_id", { app_slug: toAskedSlug(slug) });
    if (app === null) issues.push({ path: "", message: unknownApp(slug).message });
  }
  return { people, issues };
}

type OnApp = { slug: string };

/** Grants a role on an app to all people with these addresses. */
export async function grantRoles(
  operator: Operator,
  emails: readonly string[],
  { slug, role }: OnApp & { role: string },
): Promise<undefined> {
  const values = { emails, app_slug: slug, new_role: role };
  return await callAsOperator(operator, "grant_roles", values);
}

/** Revokes the roles of all people on an app, unless one has none. Returns the addresses of those without a role. */
export async function revokeRoles(
  operator: Operator,
  emails: readonly string[],
  { slug, isDryRun }: OnApp & { isDryRun: boolean },
): Promise<string[]> {
  const values = { emails, app_slug: slug, is_dry_run: isDryRun };
  return await callAsOperator(operator, "revoke_roles", values);
}

/** Disables or enables all people with these addresses. */
export async function setAllDisabled(
  operator: Operator,
  emails: readonly string[],
  disabled: boolean,
): Promise<undefined> {
  return await callAsOperator(operator, "set_all_disabled", { emails, disabled });
}

type CreatedPerson = { id: string; email: string; isMailed: boolean; linkText: string };

/** Creates all people of a checked list, each with a link that sets a password. */
export async function createUsers(
  deps: Operator & LinkDeps & { makeId: () => string },
  people: readonly ChosenPerson[],
): Promise<CreatedPerson[]> {
  const created = people.map((person) => makeNewPerson(deps, { ...person, id: deps.makeId() }));
  const [first] = created;
  if (first === undefined) return [];
  const mailed = await callAsOperator(deps, "create_users", {
    people: created.map(({ value }) => value),
    ...first.ofLinks,
  });
  return created.map(({ value: { id, email }, linkText }, position) => ({
    ...{ id, email, linkText },
    isMailed: mailed[position] === true,
  }));
}

/** A new person with a link, as `create_users` and `invite_people` expect it, and what all their links share. */
export function makeNewPerson(
  deps: LinkDeps,
  { id, email, displayName }: { id: string; email: string; displayName?: string | undefined },
) {
  const link = makeLink(deps);
  const digest = toAddressValues(deps.identitySecrets, id, email).mail_digest;
  const { link_secret_id, ends_at } = toLinkValues(link);
  return {
    value: { id, email, name: displayName, digest, linkId: link.id, proof: link.proof },
    ofLinks: { link_secret_id, ends_at },
    linkText: link.text,
  };
}
