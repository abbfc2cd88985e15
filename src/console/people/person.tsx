/** @jsxImportSource #html @jsxRuntime automatic */
/** A person: account, roles on apps, sessions, and links to the actions. @module */

import { type Html, type Part, renderCopyButton } from "../../pages/mod.ts";
import { type PersonView, showConsolePerson } from "../../records/console/mod.ts";
import {
  findBlocker,
  hasFactor,
  PERSON_GRANTS,
  sessionList,
  toPersonName,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import type { ConsolePageDeps, Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  ROWS_READ,
  readListQuery,
  renderListLinks,
  renderListTable,
  renderNextLink,
  toPage,
} from "../list.tsx";
import {
  type Fact,
  joinParts,
  renderAppName,
  renderEmpty,
  renderFacts,
  renderLink,
  renderPill,
  renderRowActions,
  renderText,
  renderTime,
} from "../parts.tsx";
import { PEOPLE, renderDone, toAppPath, toPersonPath, toRolePath } from "../paths.ts";
import { renderRole, renderRoleActions } from "./app_people.tsx";
import { renderInviter, renderLinkEnd, renderMail } from "./invitations.tsx";
import { renderState, toRoleText } from "./people.tsx";
import { renderEnd } from "./person_endings.tsx";

const SLUG_MAX = 40;

export async function handlePerson(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const { after } = readListQuery(context.query, { maxLength: SLUG_MAX });
  const page = await showConsolePerson(deps, {
    id: context.params["person"] ?? "",
    after,
    maxRows: ROWS_READ,
  });
  const { me, person } = page;
  const now = deps.now();
  return respondWithConsolePage({
    me,
    title: toPersonName(person),
    crumbs: [{ name: "People", path: PEOPLE }],
    actions: person.disabledAt !== null && renderPill("disabled", "warn"),
    body: [
      renderDone(visit),
      renderAccount(page, now),
      renderGrants(page, deps),
      renderSessions(page, deps),
      renderEnd(page, visit),
    ],
  });
}

function renderAccount(page: PersonView, now: number): Html {
  const { me, person } = page;
  const path = toPersonPath(person.id);
  const isFree = findBlocker(page) === undefined;
  const change = (
    <a href={`${path}/address`}>
      change<span class="visually-hidden"> the address</span>
    </a>
  );
  const role = person.consoleRole && toRoleText(person.consoleRole);
  return (
    <section class="sheet" aria-label="Account">
      {renderFacts("facts", [
        [
          "Address",
          [<span id="address">{renderText(person.email)}</span>, isFree && [" ", change]],
          renderCopyButton("address", "the address"),
        ],
        [
          "State",
          [
            renderState(person),
            person.id === me.id && [" ", <span class="quiet">(this is you)</span>],
          ],
        ],
        ...renderWaysIn(page, now),
        ...renderFailures(person, now),
        [
          "Second factor",
          renderFactors(person),
          hasFactor(person) && isFree && renderSmall("Reset", `${path}/second-factor`),
        ],
        [
          "Console role",
          role ?? <span class="quiet">none</span>,
          me.role === "super_admin" && renderSmall("Change", `${path}/console-role`),
        ],
        ["Created", renderTime(person.createdAt, now)],
        ["Id", <code id="id">{person.id}</code>, renderCopyButton("id", "the id")],
      ])}
    </section>
  );
}

function renderSmall(name: Part, path: string): Html {
  return renderLink(name, path, "quiet", { isDialog: true, isSmall: true });
}

/** The sign-in methods of the person, or the invitation. */
function renderWaysIn(page: PersonView, now: number): Fact[] {
  const { person } = page;
  const path = toPersonPath(person.id);
  const isOpen = findBlocker(page) === undefined && person.disabledAt === null;
  const { invitation } = person;
  if (invitation === null) {
    const link = isOpen && renderSmall("New link", `${path}/password-link`);
    return [["Password", renderPassword(page, now), link]];
  }
  return [
    [
      "Invited",
      [renderTime(invitation.invitedAt, now), " ", renderInviter(invitation)],
      isOpen && renderSmall("Withdraw", `${path}/withdraw-invitation`),
    ],
    [
      "Invitation",
      joinParts([renderLinkEnd(invitation, now), renderMail(invitation, now)]),
      isOpen && renderSmall("Resend", `${path}/resend-invitation`),
    ],
  ];
}

function renderPassword({ person }: PersonView, now: number): Part {
  const ways = [person.hasPassword && "set", person.hasProvider && "signs in with a provider"];
  const state = ways.filter((way) => way !== false).join("; ") || "none yet";
  if (person.linkEndsAt === null) return state;
  const end = renderTime(person.linkEndsAt, now);
  return joinParts([state, <span class="quiet">an unused link expires {end}</span>]);
}

function renderFailures({ failedSignIns }: PersonView["person"], now: number): Fact[] {
  if (failedSignIns === null) return [];
  const { attempts, lastAt, lastFrom } = failedSignIns;
  const text = (
    <>
      {attempts} since the last correct password, the latest {renderTime(lastAt, now)} from{" "}
      {lastFrom ?? "an unknown address"}
    </>
  );
  return [["Wrong passwords", text]];
}

function renderFactors({ hasTotp, passkeys, recoveryCodes }: PersonView["person"]): Part {
  const factors = [
    hasTotp && "authenticator app",
    passkeys > 0 && showCount(passkeys, "passkey"),
  ].filter((factor) => factor !== false);
  if (factors.length === 0) return <span class="quiet">none</span>;
  const codes = <span class="quiet">and {showCount(recoveryCodes, "recovery code")}</span>;
  return [factors.join(", "), " ", codes];
}

function renderGrants({ person, grants }: PersonView, deps: ConsolePageDeps): Part {
  const now = deps.now();
  const path = toPersonPath(person.id);
  const { page, last } = toPage(grants);
  return [
    <div class="section-head">
      <h2>Apps</h2>
      {renderLink("Grant a role", `${path}/new-role`, "quiet", { isDialog: true })}
    </div>,
    person.consoleRole !== null && (
      <p class="quiet">
        With a Console role, this person is <code>admin</code> on every app, including apps not
        listed here.
      </p>
    ),
    page.length === 0
      ? person.consoleRole === null && renderEmpty("No roles. This person cannot open any app.")
      : renderListTable({ columns: PERSON_GRANTS }, page, {
          label: "Apps",
          now,
          cells: {
            app: ({ app, isDisabled }) =>
              renderAppName(app, isDisabled, `${toAppPath(app)}/people`),
            role: (grant) => renderRole(grant, deps),
          },
          actions: ({ app }) => renderRoleActions(toRolePath(app, person.id), app, "?from=person"),
        }),
    last !== undefined && <p>{renderNextLink(path, { after: last.app })}</p>,
  ];
}

function renderNoSession({ lastSignInAt }: PersonView["person"], now: number): Part {
  if (lastSignInAt === null) return "No active sessions. Never signed in.";
  return <>No active sessions. Last sign-in: {renderTime(lastSignInAt, now)}</>;
}

function renderSessions(page: PersonView, deps: Visit["deps"]): Part {
  const { person, sessions } = page;
  const own = deps.cookies.session.split(",").map((cookie) => cookie.split(".")[0]);
  const path = toPersonPath(person.id);
  const isFree = findBlocker(page) === undefined;
  return [
    <div class="section-head">
      <h2>Sessions</h2>
      {isFree &&
        sessions.length > 0 &&
        renderLink("End all", `${path}/end-sessions`, "quiet", { isDialog: true })}
    </div>,
    sessions.length === 0
      ? renderEmpty(renderNoSession(person, deps.now()))
      : [
          renderListTable(sessionList, sessions, {
            label: "Sessions",
            now: deps.now(),
            cells: {
              id: ({ id, device, address }) => (
                <span class="person">
                  {renderText(device ?? "Unknown browser")}
                  {own.includes(id) && <> {renderPill("current", "good")}</>}
                  <span class="quiet person-address">
                    {address !== null && <>from {renderText(address)} · </>}
                    <code>{id}</code>
                  </span>
                </span>
              ),
            },
            actions: ({ id }) =>
              isFree &&
              renderRowActions(<>session {id}</>, [["End", `${path}/sessions/${id}`, "danger"]]),
          }),
          renderListLinks({ path: `${path}/sessions` }),
        ],
  ];
}
