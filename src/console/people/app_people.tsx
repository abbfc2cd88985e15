/** @jsxImportSource #html @jsxRuntime automatic */
/** The people with a role on an app, and a form to add a person. @module */

import type { Html } from "../../pages/mod.ts";
import { runAction } from "../../records/actions/mod.ts";
import {
  APP_ROLE,
  type AppPerson,
  appPeopleList,
  EMAIL,
  grantRole,
  ROLE_SAVED,
} from "../../records/people/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { makeAppAction, respondWithAppPage } from "../app_page.tsx";
import { type ConsolePageDeps, readText, type Visit } from "../enter.tsx";
import { type ListQuery, makeCsv, readListed, renderListTable } from "../list.tsx";
import { checkNewRole, renderNewRole } from "../new_role.tsx";
import { renderEmpty, renderLink, renderPill, renderRowActions, renderText } from "../parts.tsx";
import { NEW_PERSON, SESSIONS_ENDED, toAppPath, toRolePath } from "../paths.ts";
import {
  readPeopleQuery,
  renderPeopleList,
  renderPersonLink,
  renderState,
  toAsked,
  toSearchFilter,
} from "./people.tsx";

export async function handleAppPeople(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const query = readPeopleQuery(visit);
  const found = await readListed(visit, appPeopleList, toAsked(query));
  const { me, isDisabled, grants: people } = found;
  const administrators = found.administrators.filter(
    ({ disabledAt }) => disabledAt === null,
  ).length;
  const list = renderPeopleList(visit, {
    path: `${toAppPath(slug)}/people`,
    query,
    rows: people,
    isSearched: people.length > 0 || query.search !== "" || query.after !== "",
    none: renderNone(slug, query),
    render: (page) => renderAppPeople(slug, page, deps),
  });
  const detail = (
    <p class="quiet">
      {administrators === 1
        ? "The Console administrator is"
        : `The ${administrators} Console administrators are`}{" "}
      also <code>admin</code> here.
    </p>
  );
  const end = renderLink("End all sessions", `${toAppPath(slug)}/end-sessions`, "quiet", {
    isDialog: true,
  });
  return respondWithAppPage({
    visit,
    me,
    isDisabled,
    tab: "People",
    body: [...list, detail, end],
  });
}

export const appPeopleCsv = makeCsv(appPeopleList, toSearchFilter);

function renderNone(slug: string, { search, after }: ListQuery): Html {
  if (search !== "") return renderEmpty("No matching people.");
  if (after !== "") return renderEmpty("No more people.");
  return renderEmpty(
    <>
      No one has a role on this app yet. Only administrators can open it. With the CLI:{" "}
      <code>rowhouse admin grant ada@example.org {quoteForShell(slug)} member</code>
    </>,
    renderLink("Add a person", `${toAppPath(slug)}/add-person`, "primary"),
  );
}

function renderAppPeople(slug: string, people: readonly AppPerson[], deps: ConsolePageDeps): Html {
  return renderListTable(appPeopleList, people, {
    label: "People",
    now: deps.now(),
    cells: {
      email: renderPersonLink,
      role: (person) => renderRole(person, deps),
      invitationState: renderState,
    },
    actions: ({ id, email }) => renderRoleActions(toRolePath(slug, id), email),
  });
}

const endSessionsPage = makeAppAction({
  action: "end_app_sessions",
  title: () => "End all sessions",
  form: ({ slug }) => ({
    intro: (
      <p>
        This signs out everyone with a role on <b>{slug}</b>, from all apps and devices. If you have
        a role, it signs you out too.
      </p>
    ),
    button: "End all sessions",
    tone: "danger",
  }),
  run: ({ deps }, { slug }) => runAction(deps, "end_app_sessions", { app_slug: slug }),
  done: SESSIONS_ENDED,
  back: ({ slug }) => `${toAppPath(slug)}/people`,
});

const addPersonPage = makeAppAction({
  action: "grant_role",
  title: () => "Add a person",
  fields: ({ slug }, { fields }) => {
    const [email, role] = [readText(fields, "email"), readText(fields, "role")];
    const typed = email === "" ? {} : { email, role };
    const invite = `${NEW_PERSON}?${new URLSearchParams({ app: slug, ...typed })}`;
    return {
      email: {
        ...EMAIL,
        hint: (
          <>
            The address of an existing account. <a href={invite}>Invite</a> anyone else.
          </>
        ),
        lookup: "People",
      },
      role: { ...APP_ROLE, value: "member" },
    };
  },
  form: async ({ slug }, visit) => ({
    fields: await renderNewRole(visit, { slug, role: readText(visit.fields, "role") }),
    button: "Grant role",
    isFocused: true,
  }),
  run: async (visit, { slug }, typed) => {
    await checkNewRole(visit, { slug, role: typed.role });
    await grantRole(visit.deps, { slug, ...typed });
  },
  done: ROLE_SAVED,
  back: ({ slug }) => `${toAppPath(slug)}/people`,
  failed: "The person was not added.",
});

/** The pages below an app's page. */
export const APP_PEOPLE_PAGES = { "add-person": addPersonPage, "end-sessions": endSessionsPage };

/** A role, and the provider whose claim granted it. */
export function renderRole(
  { role, provider }: { role: string; provider: string | null },
  { providers }: Pick<ConsolePageDeps, "providers">,
): Html {
  const by = provider !== null && (
    <>
      {" "}
      <span class="quiet">by {renderText(toLabel(provider, providers))}</span>
      {providers.find(provider) === undefined && (
        <> {renderPill("not configured: role inactive", "warn")}</>
      )}
    </>
  );
  return (
    <>
      <code class="action-name">{role}</code>
      {by}
    </>
  );
}

/** A provider's label; its name if the settings are removed. */
export function toLabel(name: string, providers: ConsolePageDeps["providers"]): string {
  return providers.find(name)?.settings.label ?? name;
}

/** The actions on a role; `what` names it for screen readers. */
export function renderRoleActions(path: string, what: string, query = ""): Html {
  return renderRowActions(<>the role: {renderText(what)}</>, [
    ["Change", `${path}${query}`],
    ["Revoke", `${path}/revoke${query}`, "danger"],
  ]);
}
