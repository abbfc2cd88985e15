/** @jsxImportSource #html @jsxRuntime automatic */
/** A person: account, roles on apps, sessions, and links to the actions. @module */

import { type Html, type Part, renderCopyButton } from "../../pages/mod.ts";
import { unknownPerson } from "../../records/actions/mod.ts";
import { type PersonView, showConsolePerson } from "../../records/console/mod.ts";
import { PERSON_GRANTS, sessionList } from "../../records/people/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import { renderInviter, renderLinkEnd, renderMail } from "../apps/invitations.tsx";
import type { ConsolePageDeps, Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  makeCsv,
  ROWS_READ,
  readListQuery,
  renderListLinks,
  renderListTable,
  renderNextLink,
  toPage,
} from "../list.tsx";
import { renderEmpty, renderLink, renderPill, renderText, renderTime } from "../parts.tsx";
import { ACTIVITY, PEOPLE, renderDone, toAppPath, toPersonPath, toRolePath } from "../paths.ts";
import { renderState, toRoleText } from "./people.tsx";
import { findBlocker, findLastBlocker, hasFactor, toPersonName } from "./person_page.tsx";

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
      action: isFree && renderSmall("Withdraw", `${path}/withdraw-invitation`, "danger"),
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
export function renderRoleActions({
  path,
  what,
  query = "",
}: {
  path: string;
  what: string;
  query?: string;
}): Html {
  const heard = <span class="visually-hidden"> the role: {renderText(what)}</span>;
  return (
    <span class="row-actions">
      <a class="button button-quiet button-small" data-dialog href={`${path}${query}`}>
        Change{heard}
      </a>{" "}
      <a class="button button-danger button-small" data-dialog href={`${path}/revoke${query}`}>
        Revoke{heard}
      </a>
    </span>
  );
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

/** @throws {Problem} not_found */
export const sessionsCsv = makeCsv(sessionList, ({ deps, context }) => {
  const { person = "" } = context.params;
  // A malformed id belongs to no person.
  if (!isUuid(person)) throw unknownPerson();
  return { email: null, person, max_idle_s: deps.sessionIdleS };
});

function renderEnd(page: PersonView): Html {
  const { person } = page;
  const path = toPersonPath(person.id);
  const isDisabled = person.disabledAt !== null;
  const blocker = findLastBlocker(page);
  const log = `${ACTIVITY}?${new URLSearchParams({ person: person.id })}`;
  return (
    <section class="sheet" aria-labelledby="end">
      <h2 id="end">{isDisabled ? "Enable or delete" : "Disable or delete"}</h2>
      {blocker === undefined ? (
        <>
          <p class="quiet">
            {isDisabled
              ? "This account cannot sign in. Its roles are retained."
              : "Disabling ends all sessions immediately and keeps the roles."}{" "}
            Ending the access also revokes the roles, and the API keys that you choose. Deleting
            removes the account, its roles and sessions. The audit log keeps only the id.
          </p>
          <div class="action-buttons">
            {renderLink(isDisabled ? "Enable" : "Disable", `${path}/state`, "quiet", {
              isDialog: true,
            })}
            {renderLink("End access", `${path}/end-access`, "danger", { isDialog: true })}
            {renderLink("Delete", `${path}/delete`, "danger", { isDialog: true })}
          </div>
        </>
      ) : (
        <p>{blocker}</p>
      )}
      <p class="sheet-foot">
        <a href={log}>Activity for this person</a>
      </p>
    </section>
  );
}
