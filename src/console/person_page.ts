/**
 * What the pages of one person have in common: the way back, and acts, each of which is a page with one form, sent to
 * itself. What cannot be done is said in place of its form. All of them ask for a sign-in of the last ten minutes.
 *
 * @module
 */
import {
  type ConsoleVisitor,
  type ListedUser,
  type ShownPerson,
  SuperAdminNeeded,
  showConsolePerson,
} from "../accounts/mod.ts";
import { readParameters, splitTarget, toTarget } from "../http/mod.ts";
import { ACCOUNT_PATH } from "../identity/mod.ts";
import { answerSeeOther, type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderActForm, renderFault, renderLink, renderText } from "./parts.ts";
import { PEOPLE, toPersonPath } from "./paths.ts";
import { toMessages } from "./read.ts";

/** What people are called on their pages. */
export function toPersonName({
  displayName,
  email,
}: Pick<ListedUser, "displayName" | "email">): string {
  const name = displayName ?? email;
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

/** The person that an address names, with the role on the app that it names. @throws {Problem} not_found */
async function readPerson({ deps, cookies, context }: Visit): Promise<ShownPerson> {
  const { person: id = "", app } = context.params;
  return await showConsolePerson(deps, cookies, {
    id,
    ...(app === undefined ? {} : { app }),
    most: 1,
  });
}

/** Whether there is a second factor that can be reset. */
export function hasFactor({ hasTotp, passkeys }: ShownPerson["person"]): boolean {
  return hasTotp || passkeys > 0;
}

/** Why an administrator cannot change an account, if so. */
export function findHindrance({ me, person }: ShownPerson): Html | undefined {
  if (person.consoleRole === null || me.role === "super_admin") return undefined;
  return person.id === me.id
    ? html`This is your own account: profile, password and sessions are on <a href="${ACCOUNT_PATH}">your account page</a>.`
    : html`${renderText(person.email)} has a Console role: only a super_admin changes the account.`;
}

/** Why an account cannot lose its rights, if so. */
export function findLastHindrance(shown: ShownPerson): Html | undefined {
  if (!shown.person.isLast) return findHindrance(shown);
  return html`${renderText(shown.person.email)} is the last super_admin: without one, nobody could give a Console role here. Make somebody else a super_admin first.`;
}

export type PersonAct = {
  title: (shown: ShownPerson) => string;
  hindrance: (shown: ShownPerson) => Part;
  form: (shown: ShownPerson, visit: Visit) => Promise<ActForm> | ActForm;
  /** Where to, when it is done. */
  run: (visit: Visit, shown: ShownPerson) => Promise<Response>;
  /** Where from, if it is not the person's page. */
  cancel?: (visit: Visit) => string;
};
type ActForm = { fields: Part; button: string; look?: "danger" };
type Handle = (visit: Visit) => Promise<Response>;

/** The page of an act, and what its form does. */
export function makePersonAct(act: PersonAct): { show: Handle; take: Handle } {
  return {
    show: async (visit) => await answerAct(act, visit, await readPerson(visit)),
    take: async (visit) => {
      const shown = await readPerson(visit);
      try {
        return await act.run(visit, shown);
      } catch (error) {
        if (!(error instanceof Problem) || !isShown(error)) throw error;
        return await answerAct(act, visit, shown, error);
      }
    },
  };
}

/** Whether a page says it beside its form; whatever else happens is no fault of what was typed. */
export function isShown(error: Problem): boolean {
  return (
    error instanceof SuperAdminNeeded || ["invalid_request", "unknown_app"].includes(error.code)
  );
}

/** The status of a page that says so. */
export function toStatus(refused: Problem | undefined): number {
  if (refused === undefined) return 200;
  return refused instanceof SuperAdminNeeded ? 403 : 422;
}

async function answerAct(
  act: PersonAct,
  visit: Visit,
  shown: ShownPerson,
  refused?: Problem,
): Promise<Response> {
  const { me, person } = shown;
  if (!me.isFresh) return answerToSignIn(visit.context);
  const back = act.cancel?.(visit) ?? toPersonPath(person.id);
  const hindrance = act.hindrance(shown);
  const body =
    hindrance === undefined
      ? renderForm(visit, await act.form(shown, visit), back)
      : html`<p>${hindrance}</p><p>${renderLink("Back", back)}</p>`;
  return answerPersonPage({
    me,
    person,
    title: act.title(shown),
    body: [refused !== undefined && renderFault("Nothing was changed.", toMessages(refused)), body],
    status: toStatus(refused),
  });
}

function renderForm({ context, token }: Visit, form: ActForm, cancel: string): Part {
  const action = toTarget(splitTarget(context.request.url));
  return renderActForm({ action, token, ...form, cancel });
}

/** A page below a person's. */
export function answerPersonPage(page: {
  me: ConsoleVisitor;
  person: ListedUser;
  title: string;
  body: Part;
  status?: number;
}): Response {
  const { me, person, title, body, status = 200 } = page;
  const crumbs = [
    { name: "People", path: PEOPLE },
    { name: toPersonName(person), path: toPersonPath(person.id) },
  ];
  return answerConsolePage({ me, entry: "People", title, crumbs, body, status });
}

/** What has just been done, as the page that comes after it says. */
const DONE = {
  role: "Saved: in force at the next request.",
  revoked: "The role is gone: in force at the next request.",
  disabled: "Disabled, and signed out everywhere.",
  enabled: "Enabled: signing in works again.",
  reset: "The second factor is gone, and all sessions have ended.",
  ended: "Ended: whoever used it has to sign in again.",
  console: "Saved: in force at the next request.",
  added: "Added to the invitation, which waits for the person still.",
  granted: "This person had an account already, and has the role from the next request on.",
  withdrawn: "Withdrawn: the link does not work any more, and the person is gone from the list.",
  address: "The address is changed: it is the one to sign in with.",
  deleted: "The account is gone. The audit log keeps its id alone.",
} as const;

export function answerDone(path: string, done: keyof typeof DONE): Response {
  return answerSeeOther(`${path}?${new URLSearchParams({ done })}`);
}

/** The remark for a page that follows an act. */
export function readDone(query: string): string | undefined {
  const given = new Map(readParameters(query)).get("done");
  return Object.entries(DONE).find(([name]) => name === given)?.[1];
}
