/** An app's settings: where its pages live, whether it is in use, and its end. @module */
import {
  DEFAULT_PER_MINUTE,
  type ShownApp,
  setTargetsByConsole,
  showConsoleApp,
} from "../accounts/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppPage } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { renderActForm, renderFault, renderLink, renderRemark, renderTextField } from "./parts.ts";
import { toAppPath } from "./paths.ts";
import { readLines, toMessages } from "./read.ts";

type Typed = { origins: string; redirects: string };
type Outcome = { typed?: Typed; faults?: readonly string[]; isSaved?: boolean };

export async function answerSettings(visit: Visit): Promise<Response> {
  return await answerForm(visit, {});
}

export async function answerSettingsForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const slug = context.params["app"] ?? "";
  const typed = { origins: fields.get("origins") ?? "", redirects: fields.get("redirects") ?? "" };
  try {
    await setTargetsByConsole(deps, cookies, {
      slug,
      origins: readLines(typed.origins),
      redirects: readLines(typed.redirects),
      cookieDomain: deps.identity.cookieDomain,
    });
    return await answerForm(visit, { isSaved: true });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, { typed, faults: toMessages(error) });
  }
}

async function answerForm(
  { deps, cookies, context, token }: Visit,
  { typed, faults = [], isSaved = false }: Outcome,
): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const { me, app } = await showConsoleApp(deps, cookies, slug);
  const stored = { origins: app.origins.join("\n"), redirects: app.redirects.join("\n") };
  return answerAppPage({
    me,
    slug,
    isDisabled: app.disabledAt !== null,
    tab: "Settings",
    status: faults.length > 0 ? 422 : 200,
    body: [
      isSaved && renderRemark("Saved: in force at the next request."),
      faults.length > 0 && renderFault("Nothing was changed.", faults),
      renderActForm({
        action: `${toAppPath(slug)}/settings`,
        token,
        fields: renderTargetFields(typed ?? stored, deps.identity.cookieDomain),
        button: "Save",
        cancel: toAppPath(slug),
      }),
      renderLimits(slug, app),
      renderLife(slug, app.disabledAt !== null),
    ],
  });
}

function renderLimits(slug: string, { perMinute, perMinuteOfKey }: ShownApp): Html {
  const [ofApp, ofKey] = [
    perMinute ?? DEFAULT_PER_MINUTE,
    perMinuteOfKey ?? perMinute ?? DEFAULT_PER_MINUTE,
  ];
  return html`<section class="sheet" aria-labelledby="limits"><h2 id="limits">Limits</h2>
<p class="quiet">${ofApp.toLocaleString("en")} requests a minute, ${ofKey.toLocaleString("en")} by each key. Whoever sends more is told to wait.</p>
<div class="act-buttons">${renderLink("Change limits", `${toAppPath(slug)}/limits`)}</div></section>`;
}

function renderLife(slug: string, isDisabled: boolean): Html {
  return html`<section class="sheet" aria-labelledby="life"><h2 id="life">${isDisabled ? "Enable or delete" : "Disable or delete"}</h2>
<p class="quiet">${isDisabled ? "It is disabled: its keys are refused, and to people it does not exist. Its rows, keys and roles are kept." : "While an app is disabled its keys are refused, and to people it does not exist. Its rows, keys and roles are kept."} Deleting takes all of them.</p>
<div class="act-buttons">${renderLink(isDisabled ? "Enable" : "Disable", `${toAppPath(slug)}/state`)}${renderLink("Delete", `${toAppPath(slug)}/delete`, "danger")}</div></section>`;
}

const MAX_CHARS = 6000;

/** The fields for an app's origins and redirects. */
export function renderTargetFields(typed: Typed, cookieDomain: string | undefined): Part {
  const example = cookieDomain ?? "example.org";
  return [
    renderTextField({
      name: "origins",
      label: "Origins",
      hint: html`Where its pages live, one a line, such as <code>https://wiki.${example}</code>. None for an app without pages.`,
      value: typed.origins,
      rows: 3,
      maxLength: MAX_CHARS,
    }),
    renderTextField({
      name: "redirects",
      label: "Further addresses to return to after sign-in",
      hint: html`One a line, with their path. Pages of the origins need none.`,
      value: typed.redirects,
      rows: 2,
      maxLength: MAX_CHARS,
    }),
  ];
}
