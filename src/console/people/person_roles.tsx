/** @jsxImportSource #html @jsxRuntime automatic */
/** Grants, changes and revokes roles on apps. Each change takes effect on the person's next request. @module */

import { readParameters } from "../../http/mod.ts";
import { type Html, type Part, renderField } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { rejectFor } from "../../records/actions/mod.ts";
import { type PersonView, readConsole } from "../../records/console/mod.ts";
import { APP_ROLE, grantAppRoles, grantRole, revokeRole } from "../../records/people/mod.ts";
import { findNearest } from "../../std/names.ts";
import { quote } from "../../std/quote.ts";
import { readText, type Visit } from "../enter.tsx";
import { renderCheck, renderText } from "../parts.tsx";
import { ROLE_SAVED, toAppPath, toPersonPath } from "../paths.ts";
import { checkNewRole, type NamedRole, renderNewRole, toLabel } from "./app_people.tsx";
import { makePersonAction, toPersonName } from "./person_parts.tsx";

/** Max suggested apps. */
export const MAX_CHOICES = 200;
/** Max apps with a check box: for each one the form reads the roles. */
const MAX_BOXES = 12;
/** Max roles next to a check box. */
const MAX_NAMED = 5;

export const newRoleAction = makePersonAction({
  action: "grant_app_roles",
  title: () => "Grant a role",
  blocker: () => undefined,
  form: async (_page, visit) => {
    const { fields } = visit;
    const listed = await listApps(visit);
    const [chosen, role] = [readApps(fields), readText(fields, "role")];
    const boxes = listed.length > 1 && listed.length <= MAX_BOXES ? listed : [];
    const choices = await readRoles(visit, boxes);
    const known = [...new Set(choices.flatMap(({ roles }) => roles))].sort();
    const unconfirmed = await Promise.all(
      chosen.slice(0, MAX_APPS).map((slug) => renderNewRole(visit, { slug, role })),
    );
    return {
      fields: [
        renderField({
          name: "app",
          label: "App",
          value: readText(fields, "app"),
          suggestions: listed,
          maxLength: MAX_TYPED,
          isFirst: true,
          isOptional: boxes.length > 0,
          hint: "Separate several apps with spaces.",
        }),
        choices.length > 0 && renderBoxes(choices, fields),
        renderField({
          ...APP_ROLE,
          name: "role",
          value: role || "member",
          ...(known.length > 0 && { suggestions: [...new Set([...known, "admin"])] }),
        }),
        unconfirmed.find((confirmation) => confirmation !== false),
      ],
      button: "Grant role",
    };
  },
  run: async (visit, { person }) => {
    const { deps, fields } = visit;
    const [slugs, role] = [readApps(fields), readText(fields, "role")];
    await checkGrants(visit, slugs, role);
    await grantAppRoles(deps, { email: person.email, slugs, role });
  },
  done: ROLE_SAVED,
});

/** Max apps per form. */
const MAX_APPS = 50;
/** The names of boxes start with it: an app cannot have a name with a space. */
const BOX = "on ";
/** Fits some of the longest names. */
const MAX_TYPED = 400;

/** The typed and the checked apps. */
function readApps(fields: Visit["fields"]): string[] {
  const typed = readText(fields, "app").split(/[\s,]+/);
  const checked = [...fields.keys()].filter((name) => name.startsWith(BOX));
  const all = [...typed, ...checked.map((name) => name.slice(BOX.length))];
  return [...new Set(all.filter((slug) => slug !== ""))];
}

async function listApps({ deps }: Visit): Promise<string[]> {
  const from = { search: "", after_slug: "", max_rows: MAX_CHOICES };
  const { apps } = await readConsole(deps, "list_apps", from);
  return apps.map(({ slug }) => slug);
}

type AppRoles = { slug: string; roles: readonly string[] };

/** The roles of each app; of none, if an app was deleted meanwhile. */
async function readRoles({ deps }: Visit, slugs: readonly string[]): Promise<AppRoles[]> {
  const read = async (slug: string) => {
    const { roles } = await readConsole(deps, "list_app_roles", { app_slug: slug });
    return { slug, roles };
  };
  try {
    return await Promise.all(slugs.map(read));
  } catch (error) {
    if (error instanceof Problem && error.code === "unknown_app") return [];
    throw error;
  }
}

function renderBoxes(choices: readonly AppRoles[], fields: Visit["fields"]): Html {
  return (
    <fieldset class="field">
      <legend>Apps</legend>
      {choices.map(({ slug, roles }) => {
        const some = roles.length > 0 && (
          <span class="quiet">{roles.slice(0, MAX_NAMED).join(", ")}</span>
        );
        const isChecked = fields.has(`${BOX}${slug}`);
        return renderCheck(`${BOX}${slug}`, [slug, " ", some], { isChecked });
      })}
    </fieldset>
  );
}

/** @throws {Problem} invalid_request — every unknown app with the nearest name, and every unconfirmed role */
async function checkGrants(visit: Visit, slugs: readonly string[], role: string): Promise<void> {
  if (slugs.length === 0) throw new Problem("invalid_request", { message: "Name an app" });
  if (slugs.length > MAX_APPS)
    throw new Problem("invalid_request", { message: `Name at most ${MAX_APPS} apps` });
  const listed = await listApps(visit);
  const messages: string[] = [];
  for (const slug of slugs) {
    const nearest = listed.includes(slug) ? undefined : findNearest(slug, listed);
    if (!listed.includes(slug) && listed.length < MAX_CHOICES)
      messages.push(
        `No app has the slug ${quote(slug)}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`,
      );
    else
      await checkNewRole(visit, { slug, role }).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
        messages.push(error.message);
      });
  }
  const details = messages.map((message) => ({ path: "", message }));
  if (details.length > 0) throw rejectFor(details);
}

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
    const { app: slug = "" } = visit.context.params;
    if (page.grants.length === 0)
      throw new Problem("invalid_request", {
        message: `The role of ${page.person.email} on ${slug} was revoked after this form was opened. Grant a new role on the page of the person`,
      });
    await grant(visit, page, { slug, role });
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
