/** @jsxImportSource #html @jsxRuntime automatic */
/** The layout of the account pages: tabs, session check, and a redirect to the sign-in without a session. @module */

import { type RequestContext, splitTarget } from "../../http/mod.ts";
import {
  type FormFields,
  type FormPage,
  type Html,
  makeFormPage,
  type NoFields,
  type PageOptions,
  type Part,
  redirect,
  renderHeading,
  respondWithPage,
  type ScriptName,
} from "../../pages/mod.ts";
import { type AccountSettings, readAccountSettings } from "../../records/account_settings/mod.ts";
import { NotSignedIn, SignInTooOld, type VisitorActor } from "../../records/actions/mod.ts";
import { renderAccountTabs, type TabDeps, type TabName } from "../account_tabs.ts";
import { clearPlanted } from "../cookies.ts";
import { isFactorDemanded, type PageDeps, readPageForm, toActor } from "../page_deps.tsx";
import { PATHS } from "../paths.ts";
import { readReturnTo, toOwnSignIn, toReturnQuery } from "../return_to.ts";

/** An authenticated request for an account page. */
export type OwnVisit = {
  /** Dependencies with the cookies, which identify the person. */
  deps: PageDeps & VisitorActor;
  context: RequestContext;
  account: AccountSettings;
  /** Form fields; empty on `GET`. */
  fields: ReadonlyMap<string, string>;
  token: string;
};

/** Reads the account and the submitted form. @throws {Problem} forbidden — the form token is invalid */
export function enterAccount(
  handle: (visit: OwnVisit) => Response | Promise<Response>,
): (deps: PageDeps, context: RequestContext) => Promise<Response> {
  return async (given, context) => {
    const { request } = context;
    const deps = { ...given, ...toActor(given, context) };
    const form = await readPageForm(deps, context, { binding: "session" });
    try {
      const account = await readAccountSettings(deps);
      if (isFactorDemanded(deps, account) && !isSecurityPage(request))
        return redirect(PATHS.addFactor);
      return await handle({ deps, context, account, ...form });
    } catch (error) {
      if (error instanceof NotSignedIn)
        return redirect(
          toOwnSignIn(isSecurityPage(request) ? PATHS.security : splitTarget(request.url).path),
          { cookies: clearPlanted(request, deps.identity) },
        );
      if (error instanceof SignInTooOld)
        return redirect(toOwnSignIn(isSecurityPage(request) ? PATHS.security : PATHS.linked));
      throw error;
    }
  };
}

/** People who must add a second factor can open only these pages. */
function isSecurityPage({ url }: Request): boolean {
  return splitTarget(url).path.startsWith(PATHS.security);
}

type AccountPage = PageOptions & {
  tab: TabName;
  title: string;
  lead?: Part;
  /** Result of the previous form. */
  done?: Part;
  /** The reason for a rejected form. */
  notice?: Part;
  body: Part;
  /** In addition to `page`, which every account page loads. */
  scripts?: readonly ScriptName[];
};

export function respondWithAccountPage(
  deps: TabDeps,
  { tab, title, lead, done, notice, body, scripts = [], ...options }: AccountPage,
): Response {
  const framed = (
    <>
      {renderAccountTabs(deps, tab)}
      {renderHeading({ title, lead, done, notice })}
      {body}
    </>
  );
  return respondWithPage(
    { title, body: framed, width: "wide", scripts: ["page", ...scripts] },
    options,
  );
}

type AccountForm<Content, Fields extends FormFields> = Pick<AccountPage, "tab" | "title" | "lead"> &
  Omit<FormPage<OwnVisit, Content, Fields>, "title" | "sentTo" | "respond"> & {
    /** Results of the previous form, by the page's query. */
    notices?: ReadonlyMap<string, string>;
  };

export function makeAccountForm<Content, Fields extends FormFields = NoFields>({
  tab,
  lead,
  notices,
  ...page
}: AccountForm<Content, Fields>) {
  return makeFormPage({
    ...page,
    // The address of a rejected form must not show a result, or repeat parameters that no page reads.
    sentTo: ({ context }) =>
      `${splitTarget(context.request.url).path}${toReturnQuery(readReturnTo(context.query))}`,
    respond: (_content, body, { deps, context }) =>
      respondWithAccountPage(deps, {
        tab,
        lead,
        done: body.status === 200 ? notices?.get(context.query) : undefined,
        ...body,
      }),
  });
}

type Entry = {
  name: Part;
  /** Next to the name. */
  pill?: Part;
  /** Facts about it. */
  about: Part;
  below?: Part;
  actions?: Part;
};

/** An entry of a list of an account page, such as a session. */
export function renderEntry({ name, pill = false, about, below, actions }: Entry): Html {
  return (
    <li class="session">
      <div class="session-text">
        <span class="session-name">{name}</span>
        {pill !== false && [" ", pill]} <span class="session-more">{about}</span>
        {below}
      </div>
      {actions}
    </li>
  );
}
