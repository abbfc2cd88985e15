/** @jsxImportSource #html @jsxRuntime automatic */
/** Grants, changes and revokes roles on apps. Each change takes effect on the person's next request. @module */

import { type Html, type Part, renderField } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { rejectFor } from "../../records/actions/mod.ts";
import { readConsole } from "../../records/console/mod.ts";
import { APP_ROLE, ROLE_ACTIONS, type RoleSubject } from "../../records/people/mod.ts";
import { findNearest } from "../../std/names.ts";
import { quote } from "../../std/quote.ts";
import { makeActionPages, type SubjectPage } from "../action_page.tsx";
import { readText, type Visit } from "../enter.tsx";
import { checkNewRole, renderNewRole } from "../new_role.tsx";
import { renderCheck } from "../parts.tsx";
import { toAppPath, toPersonPath } from "../paths.ts";
import { PERSON, readFrom } from "./person_parts.tsx";

/** Max suggested apps. */
export const MAX_CHOICES = 200;
/** Max apps with a check box: for each one the form reads the roles. */
const MAX_BOXES = 12;
/** Max characters of a role. */
const MAX_ROLE = 32;
/** Max roles next to a check box. */
const MAX_NAMED = 5;

/** The fields of a form that grants roles on several apps: one role, or one for each app. */
export async function renderGrantFields(visit: Visit): Promise<Part> {
  const { fields } = visit;
  const listed = await listApps(visit);
  const [chosen, role] = [readApps(fields), readText(fields, "role")];
  const boxes = listed.length > 1 && listed.length <= MAX_BOXES ? listed : [];
  const choices = await readRoles(visit, boxes);
  const known = [...new Set(choices.flatMap(({ roles }) => roles))].sort();
  const named = chosen.slice(0, MAX_APPS).map((slug) => toNamed(fields, slug));
  const distinct = [...new Map(named.map((of) => [of.role, of])).values()];
  const unconfirmed = await Promise.all(distinct.map((of) => renderNewRole(visit, of)));
  return [
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
    unconfirmed,
  ];
}

/** The chosen apps and the role. @throws {Problem} invalid_request — as {@linkcode checkGrants} */
export async function readGrants(visit: Visit): Promise<{ apps: string; role: string }> {
  const named = readApps(visit.fields).map((slug) => toNamed(visit.fields, slug));
  await checkGrants(visit, named);
  const apps = named.map(({ slug, role }) => `${slug}=${role}`).join(" ");
  return { apps, role: readText(visit.fields, "role") };
}

/** Max apps per form. */
const MAX_APPS = 50;
/** The names of boxes start with it: an app cannot have a name with a space. */
const BOX = "on ";
/** The names of the fields for the role on one app start with it. */
const ROLE_ON = "role on ";

/** The role of an app: its own, or the role for all. */
function toNamed(fields: Visit["fields"], slug: string): { slug: string; role: string } {
  const own = fields.has(`${BOX}${slug}`) ? readText(fields, `${ROLE_ON}${slug}`) : "";
  return { slug, role: own || readText(fields, "role") };
}

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
    <fieldset class="field app-roles">
      <legend>Apps</legend>
      {choices.map(({ slug, roles }) => {
        const some = roles.length > 0 && (
          <span class="quiet">{roles.slice(0, MAX_NAMED).join(", ")}</span>
        );
        const isChecked = fields.has(`${BOX}${slug}`);
        const name = `${ROLE_ON}${slug}`;
        return (
          <div class="app-role">
            {renderCheck(`${BOX}${slug}`, [slug, " ", some], { isChecked })}
            <input
              type="text"
              name={name}
              value={readText(fields, name)}
              maxlength={MAX_ROLE}
              placeholder="role as below"
              aria-label={`Role on ${slug}`}
              autocomplete="off"
              autocapitalize="none"
              spellcheck="false"
            />
          </div>
        );
      })}
    </fieldset>
  );
}

/** @throws {Problem} invalid_request — every unknown app with the nearest name, and every unconfirmed role */
async function checkGrants(
  visit: Visit,
  named: readonly { slug: string; role: string }[],
): Promise<void> {
  if (named.length === 0) throw new Problem("invalid_request", { message: "Name an app" });
  if (named.length > MAX_APPS)
    throw new Problem("invalid_request", { message: `Name at most ${MAX_APPS} apps` });
  const listed = await listApps(visit);
  const messages: string[] = [];
  for (const { slug, role } of named) {
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

const ROLE: SubjectPage<RoleSubject> = {
  ...PERSON,
  toRef: ({ person: { id, email } }, { context }) => ({ id, email, app: readApp(context) }),
  toBack: ({ person }, { context }) =>
    readFrom(context.query) === "person"
      ? toPersonPath(person.id)
      : `${toAppPath(readApp(context))}/people`,
};

function readApp({ params }: Visit["context"]): string {
  return params["app"] ?? "";
}

/** The page of a role, and the pages below it. */
export const ROLE_PAGES = makeActionPages(ROLE, ROLE_ACTIONS);
