/** @jsxImportSource #html @jsxRuntime automatic */
/** `/login` and `/sign-out`: the sign-in form, the list of a person's apps, and signing out. @module */

import { type RequestContext, readForm } from "../../http/mod.ts";
import {
  type Html,
  type Part,
  redirect,
  renderForm,
  renderNotice,
  respondWithPage,
  SIGN_OUT_PATH,
} from "../../pages/mod.ts";
import {
  endSessions,
  endSessionsEverywhere,
  type PageSession,
  type Visitor,
  type VisitorApp,
} from "../../records/sessions/mod.ts";
import { RECENT_SIGN_IN } from "../../std/limits.ts";
import { renderAccountTabs } from "../account_tabs.ts";
import { clearPages, clearPending, hasIdentityCookie } from "../cookies.ts";
import { checkForm, toSessionToken } from "../form_token.ts";
import {
  isFactorDemanded,
  type PageDeps,
  readOpenVisit,
  readSessionOfPage,
  toActor,
} from "../page_deps.tsx";
import { CONSOLE_PATH, PASSWORD_SET, PATHS } from "../paths.ts";
import type { ReturnTo } from "../return_to.ts";
import { needsFresh, readReturnTo, toReturnQuery } from "../return_to.ts";
import { type SignInTarget, signInPage } from "./page.tsx";

const SIGNED_OUT = `${PATHS.login}?signed-out=here`;
const SIGNED_OUT_EVERYWHERE = `${PATHS.login}?signed-out=everywhere`;
/** Result of the sign-out, keyed by the value of `signed-out`. */
const NOTICES: ReadonlyMap<string | null, string> = new Map([
  ["here", "You are signed out."],
  ["everywhere", "You are signed out. All your sessions have ended."],
]);
const PASSWORD_IS_SET = "Password set. Your earlier sessions have ended.";
/** Administrators can open every app, so the list is limited and has a search. */
const MAX_APPS = 50;
const SLUG_MAX = 40;

/** The requested account page, or the person's apps; without a session, the sign-in form. */
export async function handleLogin(deps: PageDeps, context: RequestContext): Promise<Response> {
  const search = readSearch(context.query);
  const session = await readSessionOfPage(deps, context, { list: { search, limit: MAX_APPS } });
  const returnTo = readReturnTo(context.query);
  const target = toTarget(returnTo);
  const { visitor, isConflict } = session;
  const visit = await readOpenVisit(deps, context);
  if (visitor !== undefined && returnTo.kind === "own") {
    if (visitor.isFresh || !needsFresh(returnTo)) return redirect(returnTo.path);
    const again = { ...target, email: visitor.email, lead: AGAIN };
    return await signInPage.show({ ...visit, target: again });
  }
  if (visitor !== undefined && isFactorDemanded(deps, visitor)) return redirect(PATHS.addFactor);
  if (visitor !== undefined)
    return respondWithAccount(
      deps,
      { ...session, visitor, search },
      {
        notice: context.query === PASSWORD_SET.split("?")[1] ? PASSWORD_IS_SET : undefined,
        token: toSessionToken(context.request),
        hasConsole: deps.hasConsole && visitor.isAdministrator,
      },
    );
  const done = NOTICES.get(new URLSearchParams(context.query).get("signed-out"));
  return await signInPage.show({ ...visit, target: { ...target, isConflict, done } });
}

export async function handleLoginForm(deps: PageDeps, context: RequestContext): Promise<Response> {
  const visit = await readOpenVisit(deps, context);
  return await signInPage.submit({ ...visit, target: toTarget(readReturnTo(context.query)) });
}

const AGAIN = `This page requires a sign-in within the last ${RECENT_SIGN_IN}`;

/** The account, or one of its pages. */
function toTarget(returnTo: ReturnTo): SignInTarget {
  if (returnTo.kind !== "own") return { action: PATHS.login, location: PATHS.login };
  return { action: `${PATHS.login}${toReturnQuery(returnTo)}`, location: returnTo.path };
}

/** Asks which sessions to end: links of the frames lead here. */
export async function handleSignOutPage(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const { visitor } = await readSessionOfPage(deps, context);
  if (visitor === undefined) return redirect(PATHS.login);
  const body = (
    <>
      <h1>Sign out</h1>
      <p class="lead">
        Signed in as <strong>{visitor.email}</strong>
      </p>
      {renderSignOuts(toSessionToken(context.request))}
      <p class="more">
        <a href={PATHS.login}>Your account</a>
      </p>
    </>
  );
  return respondWithPage({ title: "Sign out", body, hasSignOut: false });
}

/** Ends this session, or all of this person's. @throws {Problem} forbidden */
export async function handleSignOut(deps: PageDeps, context: RequestContext): Promise<Response> {
  const { request } = context;
  const fields = await readForm(request);
  // A second tab or a double click: the session has already ended.
  if (!hasIdentityCookie(request)) return redirect(SIGNED_OUT);
  checkForm(request, deps.identity, { fields, binding: "session" });
  const actor = { db: deps.db, ...toActor(deps, context) };
  const isEverywhere = fields.get("everywhere") === "yes";
  const { session, identity, from } = actor.cookies;
  if (isEverywhere) await endSessionsEverywhere(actor);
  else await endSessions(deps, { presented: [session, identity].join(","), from });
  return redirect(isEverywhere ? SIGNED_OUT_EVERYWHERE : SIGNED_OUT, {
    cookies: [...clearPages(deps.identity), clearPending()],
  });
}

function readSearch(query: string): string {
  const text = new URLSearchParams(query).get("q") ?? "";
  return text.replaceAll("\0", "").trim().toLowerCase().slice(0, SLUG_MAX);
}

type SignedIn = Pick<PageSession, "apps" | "hasMoreApps"> & { visitor: Visitor; search: string };

function respondWithAccount(
  deps: PageDeps,
  { visitor: { email, displayName }, ...list }: SignedIn,
  { token, hasConsole, notice }: { token: string; hasConsole: boolean; notice: string | undefined },
): Response {
  const body = (
    <>
      {renderAccountTabs(deps, "Apps")}
      <h1>{displayName === null ? "You are signed in" : `Hello, ${displayName}`}</h1>
      <p class="lead">
        Signed in as <strong>{email}</strong>
      </p>
      {notice !== undefined && renderNotice("info", notice)}
      <h2>Your apps</h2>
      {renderApps(list)}
      {hasConsole && (
        <p class="more">
          <a href={CONSOLE_PATH}>Open the Console</a> to administer apps and keys.
        </p>
      )}
      {renderSignOuts(token)}
    </>
  );
  return respondWithPage({
    title: "Your apps",
    body,
    width: "wide",
    scripts: ["page"],
    hasSignOut: false,
  });
}

function renderApps({ apps, hasMoreApps, search }: Omit<SignedIn, "visitor">): Part {
  const isSearched = search !== "" || hasMoreApps;
  return [
    isSearched && (
      <form class="app-search" method="get" action={PATHS.login} role="search">
        <input
          type="search"
          name="q"
          value={search}
          maxlength={SLUG_MAX}
          aria-label="Find an app"
          placeholder="Find an app"
          autocomplete="off"
          spellcheck="false"
          autocapitalize="none"
        />{" "}
        <button class="button button-quiet" type="submit">
          Search
        </button>
      </form>
    ),
    apps.length === 0 ? (
      <p class="empty">
        {search === ""
          ? "You do not have access to any app yet. Ask your administrator for access."
          : "No app has this name."}
      </p>
    ) : (
      <ul class="apps">{apps.map(renderApp)}</ul>
    ),
    hasMoreApps && <p class="more">Showing the first {MAX_APPS} apps. Search to find others.</p>,
  ];
}

function renderApp({ slug, role, url }: VisitorApp): Html {
  const inside = (
    <>
      <span class="app-mark" aria-hidden="true">
        {slug.charAt(0)}
      </span>{" "}
      <span class="app-text">
        <span class="app-name">{slug}</span>
        <span class="app-host">{url === null ? "has no address yet" : new URL(url).host}</span>
      </span>{" "}
      <span class="role">
        <span class="visually-hidden">your role: </span>
        {role}
      </span>
    </>
  );
  return url === null ? (
    <li>
      <div class="app">{inside}</div>
    </li>
  ) : (
    <li>
      <a class="app" href={`${url}/`}>
        {inside}
      </a>
    </li>
  );
}

function renderSignOuts(token: string): Html {
  return (
    <div class="actions">
      {renderSignOut(token, { isEverywhere: false })}
      {renderSignOut(token, { isEverywhere: true })}
    </div>
  );
}

function renderSignOut(token: string, { isEverywhere }: { isEverywhere: boolean }): Html {
  return renderForm({
    action: SIGN_OUT_PATH,
    token,
    hidden: isEverywhere ? { everywhere: "yes" } : {},
    button: isEverywhere ? "Sign out everywhere" : "Sign out",
    tone: "quiet",
  });
}
