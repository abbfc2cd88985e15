/** An invitation: of whom, and perhaps to an app in a role. The link that sets the password is shown once. @module */
import {
  type ConsoleVisitor,
  inviteByConsole,
  listConsoleApps,
  type NewPerson,
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
import { answerDone, isShown, toStatus } from "./person_page.ts";
import { COMMON_ROLES, MOST_CHOICES } from "./person_roles.ts";
import { readPersonId, toMessages } from "./read.ts";

type Typed = { email: string; name: string; consoleRole: string; app: string; role: string };

export async function answerNewPerson(visit: Visit): Promise<Response> {
  const read = readQuery(visit);
  const app = read("app");
  const role = app === "" ? "" : read("role") || "member";
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
    const { email, outcome, linkText } = await inviteByConsole(
      deps,
      cookies,
      toNewPerson(id, typed),
    );
    // Whoever is there has no new link; where the role is shown is where this began.
    if (linkText === undefined)
      return answerDone(
        `${toAppPath(typed.app)}/people`,
        outcome === "added" ? "added" : "granted",
      );
    const { me } = await listConsoleApps(deps, cookies, { search: "", after: "", most: 0 });
    const link = { text: linkText, isMailed: outcome === "mailed" };
    const body = renderPasswordLink(visit, { link, person: { id, email } });
    return answerPage(me, { title: link.isMailed ? "Invited" : "Copy this link now", body });
  } catch (error) {
    if (!(error instanceof Problem) || !isShown(error)) throw error;
    return await answerForm(visit, typed, error);
  }
}

/** @throws {Problem} invalid_request — a hand made this form */
function toNewPerson(id: string, { email, name, consoleRole, app, role }: Typed): NewPerson {
  return {
    id,
    email,
    displayName: name,
    consoleRole: readConsoleRole(consoleRole),
    grant: app === "" && role === "" ? undefined : { slug: app, role },
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
      renderFields(visit, me, typed),
      renderGrantFields(
        typed,
        apps.map(({ slug }) => slug),
      ),
    ],
    button: deps.hasMail ? "Invite" : "Invite, and show the link",
    cancel: asked === "" ? PEOPLE : `${toAppPath(asked)}/people`,
  });
  const body = [
    refused !== undefined && renderFault("Nobody was invited.", toMessages(refused)),
    form,
  ];
  return answerPage(me, { title: "Invite a person", body, status: toStatus(refused) });
}

function renderFields({ deps }: Visit, me: ConsoleVisitor, typed: Typed): Part {
  const { email, name, consoleRole } = typed;
  return [
    renderTextField({
      name: "email",
      label: "Address",
      hint: deps.hasMail
        ? "People sign in with it. A mail goes there with a link that sets the password."
        : "People sign in with it. You get a link to pass on, which sets the password.",
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
