/** The actions on a person's role on an app: their pages and commands. @module */
import { type Said, say, sayQuietly } from "../../said.ts";
import { nothing, text } from "../actions/columns.ts";
import { actionOn, type PageContext } from "../actions/declaration.ts";
import { APP_ROLE } from "./people.ts";
import { type PersonPage, toPersonName } from "./people_lists.ts";
import { grantRole, revokeRole } from "./roles.ts";
import { grantRoles, revokeRoles } from "./several.ts";

export type RoleSubject = {
  ref: { email: string; id?: string; app: string };
  page: PersonPage;
  named: { email: string; app: string };
};
const onRole = actionOn<RoleSubject>();

export const ROLE_SAVED = { role: "Role saved. Takes effect on the next request." };

/** The reason why a role cannot be changed or revoked, if any. */
function findMissingRole({ person, grants }: PersonPage): Said | undefined {
  return grants.length > 0 ? undefined : say`${{ value: person.email }} has no role on this app.`;
}

/** The effect on a role that a provider's claim granted. */
function sayClaim({ grants: [grant] }: PersonPage, { labelOf }: PageContext, effect: string) {
  if (grant === undefined || grant.provider === null) return false;
  const label = labelOf(grant.provider);
  return say`A claim of ${{ name: label ?? grant.provider }} ${effect}${label === undefined ? " This provider is not configured here, so the role has no effect." : ""}`;
}

export const ROLE_ACTIONS = {
  grant: onRole({
    name: "grant_role",
    inputs: { role: { ...APP_ROLE, argument: "role" } },
    run: (deps, { email, app }, { role }) => grantRole(deps, { email, slug: app, role }),
    newRole: ({ app }, { role }) => ({ slug: app, role }),
    says: {
      title: ({ person }) => `Role of ${toPersonName(person)}`,
      effect: (page, context) => [
        say`On ${{ name: context.params["app"] ?? "" }}. Takes effect on the next request.`,
        sayClaim(
          page,
          context,
          "granted the current role. The role that you save here overrides later claims.",
        ),
      ],
      button: "Save",
      done: ROLE_SAVED,
      line: ({ email, role, app }, isDryRun) =>
        `${email} ${isDryRun ? "would be" : "is now"} ${role} on ${app}`,
    },
    page: {
      path: "",
      blocker: findMissingRole,
      stale: ({ person, grants }, { params }) =>
        grants.length === 0
          ? `The role of ${person.email} on ${params["app"]} was revoked after this form was opened. Grant a new role on the page of the person`
          : undefined,
      fields: ({ grants }) => ({ role: { value: grants[0]?.role ?? "member" } }),
    },
    command: "grant",
    summary: "grants people a role on an app",
    example: `rowhouse admin grant ada@example.org wiki editor
rowhouse admin grant wiki editor --file people.csv --dry-run`,
    about: `A person has one role per app: a new role replaces the previous role. A role that no one has on the app, and no claim of
a provider gives, needs a confirmation; the first role of an app does not.`,
    json: { role: text() },
    several: async (deps, emails, { named: { app }, values: { role }, isDryRun }) =>
      isDryRun ? [] : await grantRoles(deps, emails, { slug: app, role }),
  }),
  revoke: onRole({
    name: "revoke_role",
    run: (deps, { app, ...person }) => revokeRole(deps, { ...person, slug: app }),
    says: {
      title: "Revoke a role",
      effect: (page, context) => [
        say`From the next request on, ${{ name: page.person.email }} is no longer ${{ code: page.grants[0]?.role ?? "" }} on ${{ name: context.params["app"] ?? "" }}.`,
        sayQuietly`${
          page.person.consoleRole === null
            ? "The account and its other roles do not change."
            : "With a Console role, this person remains admin on every app."
        }`,
        sayClaim(
          page,
          context,
          "granted this role. The next sign-in grants it again unless you also remove it at the provider.",
        ),
      ],
      button: "Revoke the role",
      done: { revoked: "Role revoked." },
      line: ({ email, app }, isDryRun) =>
        `${email} ${isDryRun ? "would have" : "now has"} no role on ${app}`,
      none: ({ email, app }) => `Nothing to revoke: ${email} has no role on ${app}`,
    },
    page: { path: "revoke", tone: "danger", blocker: findMissingRole },
    command: "revoke",
    summary: "revokes people's role on an app, or all roles from a provider's claims",
    example: `rowhouse admin revoke ada@example.org wiki
rowhouse admin revoke wiki --file people.csv
rowhouse admin revoke --provider corp`,
    about: `Takes effect immediately. With --provider it lists the roles and asks for confirmation: no sign-in revokes the roles of a
removed provider. With --provider: { provider, revoked: [{ email, app, role }] }.`,
    json: { role: nothing() },
    several: (deps, emails, { named: { app }, isDryRun }) =>
      revokeRoles(deps, emails, { slug: app, isDryRun }),
  }),
};
