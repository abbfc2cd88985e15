/** @jsxImportSource #html @jsxRuntime automatic */
/** Invites people, optionally with a role on an app. The password link is shown once. @module */

import { readInput } from "../../field.ts";
import { readParameters } from "../../http/mod.ts";
import { type Part, renderCopyButton, renderField } from "../../pages/mod.ts";
import { rejectFor } from "../../records/actions/mod.ts";
import { type ConsoleVisitor, readConsole } from "../../records/console/mod.ts";
import {
  APP_ROLE,
  CONSOLE_ROLE,
  DISPLAY_NAME,
  EMAIL,
  type InvitedPerson,
  invite,
  inviteSeveral,
  splitEmails,
  toCanonicalEmail,
} from "../../records/people/mod.ts";
import { readPersonId, readText, type Visit } from "../enter.tsx";
import { makeFormPage } from "../form_page.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { checkNewRole, renderNewRole } from "../new_role.tsx";
import { renderLink, renderTable, renderText, renderTextField } from "../parts.tsx";
import { INVITATIONS, PEOPLE, redirectWithNotice, toAppPath } from "../paths.ts";
import { COPY_LINK, renderPasswordLink, toPasswordLink } from "./person_parts.tsx";
import { MAX_CHOICES } from "./person_roles.tsx";

/** Max people per form: one statement invites all. */
const MAX_PEOPLE = 50;

const CRUMBS = [{ name: "People", path: PEOPLE }];

type Typed = { email: string; name: string; consoleRole: string; app: string; role: string };

export const newPersonPage = makeFormPage({
  action: "invite",
  read: ({ deps }) =>
    readConsole(deps, "list_apps", { search: "", after_slug: "", max_rows: MAX_CHOICES }),
  title: () => "Invite people",
  form: async ({ me, apps }, visit) => {
    const typed = visit.fields.size === 0 ? toSuggested(visit) : readTyped(visit);
    return {
      hidden: { person_id: visit.deps.makeId() },
      fields: [
        renderFields(visit, me, typed),
        renderGrantFields(
          typed,
          apps.map(({ slug }) => slug),
        ),
        await renderNewRole(visit, { slug: typed.app, role: typed.role }),
      ],
      button: visit.deps.hasMail ? "Invite" : "Invite and show link",
    };
  },
  run: async (visit, { me }) => {
    const { app, role, name, ...typed } = readTyped(visit);
    const id = readPersonId(visit.fields.get("person_id"));
    await checkNewRole(visit, { slug: app, role });
    const emails = [...new Set(splitEmails(typed.email).map(toCanonicalEmail))];
    if (emails.length > 1) {
      const body = await inviteAll(visit, { id, emails, typed: { ...typed, name, app, role } });
      return respondWithConsolePage({ me, crumbs: CRUMBS, title: "Invitations", body });
    }
    const consoleRole = readInput(CONSOLE_ROLE, "the Console role", typed.consoleRole);
    const { email, outcome, linkText } = await invite(visit.deps, {
      id,
      email: emails[0] ?? "",
      displayName: name,
      consoleRole: consoleRole === "none" ? undefined : consoleRole,
      ...(app === "" && role === "" ? {} : { slug: app, role }),
    });
    // An existing person gets no new link: go back to the page that shows the role.
    if (linkText === undefined)
      return redirectWithNotice(
        `${toAppPath(app)}/people`,
        outcome === "added" ? "added" : "granted",
      );
    const link = { linkText, isMailed: outcome === "mailed" };
    const body = renderPasswordLink(visit, { link, person: { id, email } });
    const title = link.isMailed ? "Invited" : COPY_LINK;
    return respondWithConsolePage({ me, crumbs: CRUMBS, title, body });
  },
  done: {
    added: "Role added to the pending invitation.",
    granted: "Role granted. The person already had an account.",
  },
  back: (_content, visit) => {
    const app = readQuery(visit)("app");
    return app === "" ? PEOPLE : `${toAppPath(app)}/people`;
  },
  crumbs: () => CRUMBS,
  failed: "The person was not invited.",
});

type InviteAll = { id: string; emails: readonly string[]; typed: Typed };

/** A row for each person: the result, and the link if no email is sent. */
async function inviteAll(visit: Visit, { id, emails, typed }: InviteAll): Promise<Part> {
  const { name, consoleRole, app, role } = typed;
  const issues = [
    emails.length > MAX_PEOPLE && `Invite at most ${MAX_PEOPLE} people at a time`,
    name !== "" && "A name can be set for only one address",
    consoleRole !== "none" && "A Console role can be granted to only one person at a time",
  ].filter((issue) => issue !== false);
  if (issues.length > 0) throw rejectFor(issues.map((message) => ({ path: "", message })));
  const invited = await inviteSeveral(visit.deps, {
    people: emails.map((email, index) => ({ id: toNextId(id, index), email })),
    ...(app === "" && role === "" ? {} : { slug: app, role }),
  });
  const columns = ["Address", "Result", "Link"];
  const rows = invited.map((person, index): Part[] => [
    renderText(person.email),
    RESULTS[person.outcome],
    person.linkText !== undefined && (
      <>
        <code id={`link-${index}`}>{toPasswordLink(visit, person.linkText)}</code>{" "}
        {renderCopyButton(`link-${index}`, `the link of ${person.email}`)}
      </>
    ),
  ]);
  return [
    renderTable("Invitations", columns, rows),
    <p class="quiet">Each link is shown only once.</p>,
    <div class="action-buttons">{renderLink("Done", INVITATIONS, "primary")}</div>,
  ];
}

const RESULTS: Readonly<Record<InvitedPerson["outcome"], string>> = {
  mailed: "Invited by email",
  made: "Invited: send the link",
  added: "Role added to the pending invitation",
  granted: "Has an account: role granted",
  taken: "Not invited: already has an account",
  repeated:
    "Not invited: this form was already sent. Resend the invitation, or invite another person on a new page",
};

/** An id for each line; the same if the form is sent twice. */
function toNextId(id: string, index: number): string {
  const last = (Number.parseInt(id.slice(-4), 16) + index) % 0x1_0000;
  return id.slice(0, -4) + last.toString(16).padStart(4, "0");
}

function readQuery({ context }: Visit): (name: string) => string {
  const query = new Map(readParameters(context.query));
  return (name) => (query.get(name) ?? "").slice(0, 254);
}

/** Values from the address of the referring page. */
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
    renderField({
      ...EMAIL,
      name: "email",
      value: email,
      label: "Addresses",
      hint: deps.hasMail
        ? `Max ${MAX_PEOPLE}. People sign in with these addresses. Each gets an email with a link to set a password.`
        : `Max ${MAX_PEOPLE}. People sign in with these addresses. You get a link for each person to set a password.`,
      rows: 3,
      maxLength: MAX_PEOPLE * EMAIL.maxLength,
      isFirst: true,
    }),
    renderField({
      ...DISPLAY_NAME,
      name: "name",
      value: name,
      hint: "Shown in apps. Only for a single address.",
    }),
    me.role === "super_admin" &&
      renderField({ ...CONSOLE_ROLE, name: "console_role", value: consoleRole }),
  ];
}

function renderGrantFields({ app, role }: Typed, slugs: readonly string[]): Part {
  return (
    <fieldset class="field pair">
      <legend>A role on an app (optional)</legend>
      {renderTextField({
        name: "app",
        label: "App",
        value: app,
        maxLength: 40,
        suggestions: slugs,
      })}
      {renderTextField({ ...APP_ROLE, name: "role", value: role, hint: undefined })}
    </fieldset>
  );
}
