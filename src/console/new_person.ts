/** A new person: who it is, and perhaps a role on an app at once. The link that sets the password is shown once. @module */
import {
  type ConsoleVisitor,
  createPersonByConsole,
  listConsoleApps,
  type NewPerson,
  toCanonicalEmail,
} from "../accounts/mod.ts";
import { readParameters, splitTarget, toTarget } from "../http/mod.ts";
import { html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderActForm, renderFault, renderSelect, renderTextField } from "./parts.ts";
import { renderPasswordLink } from "./password_link.ts";
import { PEOPLE, toAppPath } from "./paths.ts";
import { CONSOLE_ROLE_CHOICES, readConsoleRole } from "./person_acts.ts";
import { isShown, toStatus } from "./person_page.ts";
import { COMMON_ROLES, MOST_CHOICES } from "./person_roles.ts";
import { readPersonId, toMessages } from "./read.ts";

type Typed = { email: string; name: string; consoleRole: string; app: string; role: string };

export async function answerNewPerson(visit: Visit): Promise<Response> {
  const read = readQuery(visit);
  const app = read("app");
  const role = app === "" ? "" : "member";
  const typed = { email: read("email"), name: "", consoleRole: "none", app, role };
  return await answerForm(visit, typed);
}

function readQuery({ context }: Visit): (name: string) => string {
  const query = new Map(readParameters(context.query));
  return (name) => (query.get(name) ?? "").slice(0, 254);
}

export async function answerNewPersonForm(visit: Visit): Promise<Response> {
  const { deps, cookies, fields } = visit;
  const read = (name: string) => (fields.get(name) ?? "").trim();
  const typed: Typed = {
    email: read("email"),
    name: read("name"),
    consoleRole: read("console_role") || "none",
    app: read("app"),
    role: read("role"),
  };
  const id = readPersonId(fields.get("person_id"));
  try {
    const text = await createPersonByConsole(deps, cookies, toNewPerson(id, typed));
    const { me } = await listConsoleApps(deps, cookies, { search: "", after: "", most: 0 });
    const person = { id, email: toCanonicalEmail(typed.email) };
    const body = renderPasswordLink(visit, { text, person });
    return answerPage(me, { title: "Copy this link now", body });
  } catch (error) {
    if (!(error instanceof Problem) || !isShown(error)) throw error;
    return await answerForm(visit, typed, error);
  }
}

/** @throws {Problem} invalid_request — half of a role on an app */
function toNewPerson(id: string, { email, name, consoleRole, app, role }: Typed): NewPerson {
  if ((app === "") !== (role === ""))
    throw new Problem("invalid_request", {
      message: "For a role on an app, name both the app and the role",
    });
  return {
    id,
    email,
    displayName: name,
    consoleRole: readConsoleRole(consoleRole),
    grant: app === "" ? undefined : { slug: app, role },
  };
}

async function answerForm(visit: Visit, typed: Typed, refused?: Problem): Promise<Response> {
  const { deps, cookies, context, token } = visit;
  const { me, apps } = await listConsoleApps(deps, cookies, {
    search: "",
    after: "",
    most: MOST_CHOICES,
  });
  if (!me.isFresh) return answerToSignIn(context);
  const asked = readQuery(visit)("app");
  const form = renderActForm({
    action: toTarget(splitTarget(context.request.url)),
    token,
    fields: [
      html`<input type="hidden" name="person_id" value="${deps.makeId()}">`,
      renderFields(me, typed),
      renderGrantFields(
        typed,
        apps.map(({ slug }) => slug),
      ),
    ],
    button: "Create, and show the link",
    cancel: asked === "" ? PEOPLE : `${toAppPath(asked)}/people`,
  });
  const body = [
    refused !== undefined && renderFault("Nobody was created.", toMessages(refused)),
    form,
  ];
  return answerPage(me, { title: "New person", body, status: toStatus(refused) });
}

function renderFields(me: ConsoleVisitor, { email, name, consoleRole }: Typed): Part {
  return [
    renderTextField({
      name: "email",
      label: "Address",
      hint: "People sign in with it. You get a link to pass on, which sets the password.",
      value: email,
      maxLength: 254,
      isRequired: true,
      isFirst: true,
      isEmail: true,
    }),
    renderTextField({
      name: "name",
      label: "Name (optional)",
      hint: "As apps show it.",
      value: name,
    }),
    me.role === "super_admin" &&
      renderSelect({
        name: "console_role",
        label: "Console role",
        hint: "With one, a person is an administrator here and admin on every app.",
        choices: CONSOLE_ROLE_CHOICES,
        value: consoleRole,
      }),
  ];
}

function renderGrantFields({ app, role }: Typed, slugs: readonly string[]): Part {
  return html`<fieldset class="field pair"><legend>A role on an app (optional)</legend>
${renderTextField({ name: "app", label: "App", value: app, maxLength: 40, choices: slugs })}
${renderTextField({ name: "role", label: "Role", value: role, maxLength: 32, choices: COMMON_ROLES })}</fieldset>`;
}

function answerPage(
  me: ConsoleVisitor,
  page: { title: string; body: Part; status?: number },
): Response {
  const crumbs = [{ name: "People", path: PEOPLE }];
  return answerConsolePage({ me, entry: "People", crumbs, ...page });
}
