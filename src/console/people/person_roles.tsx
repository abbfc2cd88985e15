/** @jsxImportSource #html @jsxRuntime automatic */
/** Grants, changes and revokes roles on apps. Each change takes effect on the person's next request. @module */

import { readParameters } from "../../http/mod.ts";
import { type Part, renderField } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type PersonView, readConsole } from "../../records/console/mod.ts";
import { APP_ROLE, grantRole, revokeRole } from "../../records/people/mod.ts";
import { checkNewRole, type NamedRole, renderNewRole } from "../apps/app_people.tsx";
import { readText, type Visit } from "../enter.tsx";
import { renderText } from "../parts.tsx";
import { ROLE_SAVED, toAppPath, toPersonPath } from "../paths.ts";
import { toLabel } from "./person.tsx";
import { makePersonAction, toPersonName } from "./person_page.tsx";

/** Max suggested apps. */
export const MAX_CHOICES = 200;

export const newRoleAction = makePersonAction({
  action: "grant_role",
  title: () => "Grant a role",
  blocker: () => undefined,
  form: async (_page, visit) => {
    const { deps, fields } = visit;
    const { apps } = await readConsole(deps, "list_apps", {
      search: "",
      after_slug: "",
      max_rows: MAX_CHOICES,
    });
    const [slug, role] = [readText(fields, "app"), readText(fields, "role")];
    return {
      fields: [
        renderField({
          name: "app",
          label: "App",
          value: slug,
          suggestions: apps.map((app) => app.slug),
          maxLength: 40,
          isFirst: true,
        }),
        renderField({ ...APP_ROLE, name: "role", value: role || "member" }),
        await renderNewRole(visit, { slug, role }),
      ],
      button: "Grant role",
    };
  },
  run: (visit, page) => {
    const [slug, role] = [readText(visit.fields, "app"), readText(visit.fields, "role")];
    return grant(visit, page, { slug, role });
  },
  done: ROLE_SAVED,
});

/** The reason why a role cannot be changed or revoked, if any. */
function findMissingRole({ person, grants }: PersonView): Part {
  return grants.length > 0 ? undefined : <>{renderText(person.email)} has no role on this app.</>;
}

export const changeRoleAction = makePersonAction({
  action: "grant_role",
  title: ({ person }) => `Role of ${toPersonName(person)}`,
  blocker: findMissingRole,
  fields: ({ grants }) => ({ role: { ...APP_ROLE, value: grants[0]?.role ?? "member" } }),
  form: async ({ grants }, visit) => ({
    intro: [
      <p>
        On <b>{renderText(visit.context.params["app"] ?? "")}</b>. Takes effect on the next request.
      </p>,
      renderClaim(
        grants,
        visit.deps,
        "granted the current role. The role that you save here overrides later claims.",
      ),
    ],
    fields: await renderNewRole(visit, {
      slug: visit.context.params["app"] ?? "",
      role: readText(visit.fields, "role"),
    }),
    button: "Save",
  }),
  run: async (visit, page, { role }) => {
    if (page.grants.length === 0)
      throw new Problem("invalid_request", { message: "Cannot change a role that was revoked" });
    await grant(visit, page, { slug: visit.context.params["app"] ?? "", role });
  },
  done: ROLE_SAVED,
  origin: toOrigin,
});

/** The pages below the page of a role. */
export const ROLE_PAGES = {
  revoke: makePersonAction({
    action: "revoke_role",
    title: () => "Revoke a role",
    blocker: findMissingRole,
    form: ({ person, grants }, { deps, context }) => ({
      intro: [
        <>
          <p>
            From the next request on, <b>{renderText(person.email)}</b> is no longer{" "}
            <code>{grants[0]?.role}</code> on <b>{renderText(context.params["app"] ?? "")}</b>.
          </p>
          <p class="quiet">
            {person.consoleRole === null
              ? "The account and its other roles do not change."
              : "With a Console role, this person remains admin on every app."}
          </p>
        </>,
        renderClaim(
          grants,
          deps,
          "granted this role. The next sign-in grants it again unless you also remove it at the provider.",
        ),
      ],
      button: "Revoke the role",
      tone: "danger",
    }),
    run: ({ deps, context }, { person: { id, email } }) =>
      revokeRole(deps, { id, email, slug: context.params["app"] ?? "" }),
    done: { revoked: "Role revoked." },
    origin: toOrigin,
  }),
};

/** The effect on a role that a provider's claim granted. */
function renderClaim(
  [grant]: PersonView["grants"],
  { providers }: Visit["deps"],
  message: string,
): Part {
  if (grant === undefined || grant.provider === null) return false;
  const isRemoved = providers.find(grant.provider) === undefined;
  return (
    <p>
      A claim of <b>{renderText(toLabel(grant.provider, providers))}</b> {message}
      {isRemoved && " This provider is not configured here, so the role has no effect."}
    </p>
  );
}

async function grant(visit: Visit, { person }: PersonView, named: NamedRole) {
  await checkNewRole(visit, named);
  await grantRole(visit.deps, { email: person.email, ...named });
}

/** The referring page: the person's or the app's. */
function toOrigin({ context }: Visit): string {
  const { app = "", person = "" } = context.params;
  const from = new Map(readParameters(context.query)).get("from");
  return from === "person" ? toPersonPath(person) : `${toAppPath(app)}/people`;
}
