/** An invitation: of whom, and perhaps to an app in a role. The link that sets the password is shown once. @module */
import { type ConsoleVisitor, readConsole } from "../accounts/console/mod.ts";
import { APP_ROLE, CONSOLE_ROLE, DISPLAY_NAME, EMAIL, invite } from "../accounts/people/mod.ts";
import { readParameters } from "../http/mod.ts";
import { html, type Part } from "../pages/mod.ts";
import { answerDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { makeFormPage, readText, renderInput } from "./form_page.ts";
import { answerConsolePage } from "./frame.ts";
import { renderTextField } from "./parts.ts";
import { renderPasswordLink } from "./password_link.ts";
import { PEOPLE, toAppPath } from "./paths.ts";
import { readConsoleRole } from "./person_acts.ts";
import { MAX_CHOICES } from "./person_roles.ts";
import { readPersonId } from "./read.ts";

type Typed = { email: string; name: string; consoleRole: string; app: string; role: string };

export const newPersonPage = makeFormPage({
  action: "invite",
  read: ({ deps }) =>
    readConsole(deps, "list_apps", { search: "", after_slug: "", max_rows: MAX_CHOICES }),
  title: () => "Invite a person",
  form: ({ me, apps }, visit) => {
    const typed = visit.fields.size === 0 ? toSuggested(visit) : readTyped(visit);
    return {
      fields: [
        html`<input type="hidden" name="person_id" value="${visit.deps.makeId()}">`,
        renderFields(visit, me, typed),
        renderGrantFields(
          typed,
          apps.map(({ slug }) => slug),
        ),
      ],
      button: visit.deps.hasMail ? "Invite" : "Invite, and show the link",
    };
  },
  run: async (visit, content) => {
    const { app, role, name, ...typed } = readTyped(visit);
    const id = readPersonId(visit.fields.get("person_id"));
    const { email, outcome, linkText } = await invite(visit.deps, {
      id,
      email: typed.email,
      displayName: name,
      consoleRole: readConsoleRole(typed.consoleRole),
      ...(app === "" && role === "" ? {} : { slug: app, role }),
    });
    // An existing person gets no new link: go back to the page that shows the role.
    if (linkText === undefined)
      return answerDone(`${toAppPath(app)}/people`, outcome === "added" ? "added" : "granted");
    const link = { linkText, isMailed: outcome === "mailed" };
    const body = renderPasswordLink(visit, { link, person: { id, email } });
    const title = link.isMailed ? "Invited" : "Copy this link now";
    return answerNewPerson(content, { title, body });
  },
  cancel: (visit) => {
    const app = readQuery(visit)("app");
    return app === "" ? PEOPLE : `${toAppPath(app)}/people`;
  },
  answer: answerNewPerson,
  failed: "The person was not invited.",
});

function readQuery({ context }: Visit): (name: string) => string {
  const query = new Map(readParameters(context.query));
  return (name) => (query.get(name) ?? "").slice(0, 254);
}

/** What the page that leads here has typed in. */
function toSuggested(visit: Visit): Typed {
  const read = readQuery(visit);
  const app = read("app");
  const role = app === "" ? "" : read("role") || "member";
  return { email: read("email"), name: "", consoleRole: "none", app, role };
}

function readTyped({ fields }: Visit): Typed {
  const read = (name: string) => readText(fields, name);
  return {
    email: read("email"),
    name: read("name"),
    consoleRole: read("console_role") || "none",
    app: read("app"),
    role: read("role"),
  };
}

function renderFields({ deps }: Visit, me: ConsoleVisitor, typed: Typed): Part {
  const { email, name, consoleRole } = typed;
  return [
    renderInput("email", EMAIL, email, {
      hint: deps.hasMail
        ? "People sign in with it. A mail goes there with a link that sets the password."
        : "People sign in with it. You get a link to pass on, which sets the password.",
      isFirst: true,
    }),
    renderInput("name", DISPLAY_NAME, name),
    me.role === "super_admin" && renderInput("console_role", CONSOLE_ROLE, consoleRole),
  ];
}

function renderGrantFields({ app, role }: Typed, slugs: readonly string[]): Part {
  return html`<fieldset class="field pair"><legend>A role on an app (optional)</legend>
${renderTextField({ name: "app", label: "App", value: app, maxLength: 40, choices: slugs })}
${renderInput("role", APP_ROLE, role, { hint: "" })}</fieldset>`;
}

function answerNewPerson(
  { me }: { me: ConsoleVisitor },
  page: { title: string; body: Part; status?: number },
): Response {
  const crumbs = [{ name: "People", path: PEOPLE }];
  return answerConsolePage({ me, entry: "People", crumbs, ...page });
}
