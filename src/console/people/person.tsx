/** @jsxImportSource #html @jsxRuntime automatic */
/** A person: account, roles on apps, sessions, and links to the actions. @module */

import { type Html, type Part, renderCopyButton } from "../../pages/mod.ts";
import { type PersonView, showConsolePerson } from "../../records/console/mod.ts";
import { PERSON_GRANTS, sessionList } from "../../records/people/mod.ts";
import { renderRole, renderRoleActions } from "../apps/app_people.tsx";
import { renderInviter, renderLinkEnd, renderMail } from "../apps/invitations.tsx";
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
import { renderEmpty, renderLink, renderPill, renderText, renderTime } from "../parts.tsx";
import { PEOPLE, renderDone, toAppPath, toPersonPath, toRolePath } from "../paths.ts";
import { renderState, toRoleText } from "./people.tsx";
import { renderEnd } from "./person_endings.tsx";
import { findBlocker, hasFactor, toPersonName } from "./person_page.tsx";

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
      renderFacts(page, now),
      renderGrants(page, deps),
      renderSessions(page, deps),
      renderEnd(page),
    ],
  });
}

type Fact = { name: string; text: Part; action?: Part };

function renderFacts(page: PersonView, now: number): Html {
  const { me, person } = page;
  const path = toPersonPath(person.id);
  const facts: Fact[] = [
    {
      name: "Address",
      text: (
        <>
          <span id="address">{renderText(person.email)}</span>
          {findBlocker(page) === undefined && (
            <>
              {" "}
              <a href={`${path}/address`}>
                change<span class="visually-hidden"> the address</span>
              </a>
            </>
          )}
        </>
      ),
      action: renderCopyButton("address", "the address"),
    },
    {
      name: "State",
      text: (
        <>
          {renderState(person)}
          {person.id === me.id && (
            <>
              {" "}
              <span class="quiet">(this is you)</span>
            </>
          )}
        </>
      ),
    },
    ...renderWaysIn(page, now),
    ...renderFailures(person, now),
    {
      name: "Second factor",
      text: renderFactors(person),
      action:
        hasFactor(person) &&
        findBlocker(page) === undefined &&
        renderSmall("Reset", `${path}/second-factor`, "danger"),
    },
    {
      name: "Console role",
      text:
        person.consoleRole === null ? (
          <span class="quiet">none</span>
        ) : (
          toRoleText(person.consoleRole)
        ),
      action: me.role === "super_admin" && renderSmall("Change", `${path}/console-role`),
    },
    { name: "Created", text: renderTime(person.createdAt, now) },
    {
      name: "Id",
      text: <code id="id">{person.id}</code>,
      action: renderCopyButton("id", "the id"),
    },
  ];
  return (
    <section class="sheet" aria-label="Account">
      <dl class="facts">
        {facts.map(({ name, text, action }) => (
          <div>
            <dt>{name}</dt>
            <dd>{text}</dd>
            {action !== undefined && action !== false && <dd>{action}</dd>}
          </div>
        ))}
      </dl>
    </section>
  );
}

function renderSmall(name: string, path: string, tone: "quiet" | "danger" = "quiet"): Html {
  return (
    <a class={`button button-${tone} button-small`} data-dialog href={path}>
      {name}
    </a>
  );
}

/** The sign-in methods of the person, or the invitation. */
function renderWaysIn(page: PersonView, now: number): Fact[] {
  const { person } = page;
  const path = toPersonPath(person.id);
  const isFree = findBlocker(page) === undefined;
  const isEnabled = person.disabledAt === null;
  const { invitation } = person;
  if (invitation === null) {
    const action = isFree && isEnabled && renderSmall("New link", `${path}/password-link`);
    return [{ name: "Password", text: renderPassword(page, now), action }];
  }
  return [
    {
      name: "Invited",
      text: (
        <>
          {renderTime(invitation.invitedAt, now)} {renderInviter(invitation)}
        </>
      ),
      action:
        isFree && isEnabled && renderSmall("Withdraw", `${path}/withdraw-invitation`, "danger"),
    },
    {
      name: "Invitation",
      text: (
        <>
          {renderLinkEnd(invitation, now)}, {renderMail(invitation, now)}
        </>
      ),
      action: isFree && isEnabled && renderSmall("Resend", `${path}/resend-invitation`),
    },
  ];
}

function renderPassword({ person }: PersonView, now: number): Part {
  const ways = [person.hasPassword && "set", person.hasProvider && "signs in with a provider"];
  const state = ways.filter((way) => way !== false).join("; ") || "none yet";
  if (person.linkEndsAt === null) return state;
  return (
    <>
      {state},{" "}
      <span class="quiet">an unused link expires {renderTime(person.linkEndsAt, now)}</span>
    </>
  );
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
  return [{ name: "Wrong passwords", text }];
}

function renderFactors({ hasTotp, passkeys, recoveryCodes }: PersonView["person"]): Part {
  const factors = [
    hasTotp && "authenticator app",
    passkeys > 0 && `${passkeys} ${passkeys === 1 ? "passkey" : "passkeys"}`,
  ].filter((factor) => factor !== false);
  if (factors.length === 0) return <span class="quiet">none</span>;
  return (
    <>
      {factors.join(", ")}{" "}
      <span class="quiet">
        and {recoveryCodes} recovery {recoveryCodes === 1 ? "code" : "codes"}
      </span>
    </>
  );
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
            app: ({ app, isDisabled }) => (
              <>
                <a class="row-name" href={`${toAppPath(app)}/people`}>
                  {app}
                </a>
                {isDisabled && <> {renderPill("disabled", "warn")}</>}
              </>
            ),
            role: (grant) => renderRole(grant, deps),
          },
          actions: ({ app }) =>
            renderRoleActions({
              path: toRolePath(app, person.id),
              what: app,
              query: "?from=person",
            }),
        }),
    last !== undefined && <p>{renderNextLink(path, { after: last.app })}</p>,
  ];
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
        renderLink("End all", `${path}/end-sessions`, "danger", { isDialog: true })}
    </div>,
    sessions.length === 0
      ? renderEmpty("No active sessions.")
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
              isFree && (
                <a
                  class="button button-danger button-small"
                  data-dialog
                  href={`${path}/sessions/${id}`}
                >
                  End<span class="visually-hidden"> session {id}</span>
                </a>
              ),
          }),
          renderListLinks({ path: `${path}/sessions` }),
        ],
  ];
}
