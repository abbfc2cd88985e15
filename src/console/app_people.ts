/** Who has which role on an app, and how somebody gets one there. @module */
import { type AppPerson, grantRoleByConsole, listAppPeople } from "../accounts/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct, answerAppPage } from "./app_page.ts";
import { answerToSignIn, type ConsolePageDeps, type Visit } from "./enter.ts";
import {
  renderActForm,
  renderEmpty,
  renderFault,
  renderLink,
  renderTable,
  renderTextField,
  renderTime,
} from "./parts.ts";
import { NEW_PERSON, toAppPath, toRolePath } from "./paths.ts";
import { renderState } from "./people.ts";
import { readPeopleQuery, renderPeopleList, renderPersonLink } from "./people_list.ts";
import { renderRole, renderRoleActs } from "./person.ts";
import { answerDone } from "./person_page.ts";
import { renderRoleField } from "./person_roles.ts";
import { toMessages } from "./read.ts";
import type { ListQuery } from "./search.ts";

export async function answerAppPeople(visit: Visit): Promise<Response> {
  const { deps, cookies, context } = visit;
  const slug = context.params["app"] ?? "";
  const query = readPeopleQuery(visit);
  const found = await listAppPeople(deps, cookies, { slug, ...query });
  const { me, isDisabled, administrators, people } = found;
  const list = renderPeopleList(visit, {
    path: `${toAppPath(slug)}/people`,
    query,
    rows: people,
    isSearched: people.length > 0 || query.search !== "" || query.after !== "",
    none: renderNone(slug, query),
    render: (shown) => renderAppPeople(slug, shown, deps),
  });
  const note = html`<p class="quiet">${administrators === 1 ? "The one administrator of the Console is" : `The ${administrators} administrators of the Console are`} <code>admin</code> here, too.</p>`;
  return answerAppPage({ me, slug, isDisabled, tab: "People", body: [...list, note] });
}

function renderNone(slug: string, { search, after }: ListQuery): Html {
  if (search !== "") return renderEmpty("Nobody with a role here has such an address or name.");
  if (after !== "") return renderEmpty("There is nobody else.");
  return renderEmpty(
    html`Nobody has a role on this app yet, so only administrators can open it. By command: <code>rowhouse admin grant ada@example.org ${slug} member</code>`,
    renderLink("Add a person", `${toAppPath(slug)}/add-person`, "primary"),
  );
}

function renderAppPeople(slug: string, people: readonly AppPerson[], deps: ConsolePageDeps): Html {
  return renderTable(
    "People",
    [
      { name: "Person" },
      { name: "Role" },
      { name: "State" },
      { name: "Since" },
      { name: "Acts", isNumber: true, isHidden: true },
    ],
    people.map((person): Part[] => [
      renderPersonLink(person),
      renderRole(person, deps),
      renderState(person),
      renderTime(person.grantedAt, deps.now()),
      renderRoleActs({ path: toRolePath(slug, person.id), what: person.email }),
    ]),
  );
}

type Typed = { email: string; role: string };

export async function answerAddPerson(visit: Visit): Promise<Response> {
  return await answerForm(visit, { email: "", role: "member" }, []);
}

export async function answerAddPersonForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const slug = context.params["app"] ?? "";
  const read = (name: string) => (fields.get(name) ?? "").trim();
  const typed = { email: read("email"), role: read("role") };
  try {
    await grantRoleByConsole(deps, cookies, { ...typed, slug });
    return answerDone(`${toAppPath(slug)}/people`, "role");
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, typed, toMessages(error));
  }
}

async function answerForm(
  { deps, cookies, context, token }: Visit,
  { email, role }: Typed,
  faults: readonly string[],
): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const { me } = await listAppPeople(deps, cookies, { slug, search: "", after: "", most: 0 });
  if (!me.isFresh) return answerToSignIn(context);
  const typed = email === "" ? {} : { email, role };
  const invite = `${NEW_PERSON}?${new URLSearchParams({ app: slug, ...typed })}`;
  const form = renderActForm({
    action: `${toAppPath(slug)}/add-person`,
    token,
    fields: [
      renderTextField({
        name: "email",
        label: "Address",
        hint: html`Of somebody who has an account. Anybody else is <a href="${invite}">invited</a>.`,
        value: email,
        maxLength: 254,
        isRequired: true,
        isFirst: true,
        isEmail: true,
      }),
      renderRoleField(role),
    ],
    button: "Give the role",
    cancel: `${toAppPath(slug)}/people`,
  });
  const body = [faults.length > 0 && renderFault("Nobody was added.", faults), form];
  const status = faults.length > 0 ? 422 : 200;
  return answerAppAct({ me, slug, title: "Add a person", body, status });
}
