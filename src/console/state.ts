/** Disabling an app, and enabling it again. @module */
import { setAppDisabledByConsole, showConsoleApp } from "../accounts/mod.ts";
import { answerSeeOther, html } from "../pages/mod.ts";
import { answerAppAct } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { renderActForm } from "./parts.ts";
import { toAppPath } from "./paths.ts";

export async function answerState({ deps, cookies, context, token }: Visit): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const { me, app } = await showConsoleApp(deps, cookies, slug);
  const isDisabled = app.disabledAt !== null;
  const verb = isDisabled ? "Enable" : "Disable";
  const form = renderActForm({
    action: `${toAppPath(slug)}/state`,
    token,
    // What is wanted, not a toggle: a form that is sent twice changes nothing the second time.
    fields: html`<input type="hidden" name="disabled" value="${isDisabled ? "no" : "yes"}">
<p>${isDisabled ? "Its keys work again at once, and people can open it." : "Its keys are refused at once by every process, and people cannot open it. Nothing is deleted."}</p>`,
    button: `${verb} ${slug}`,
    look: isDisabled ? "primary" : "danger",
    cancel: `${toAppPath(slug)}/settings`,
  });
  return answerAppAct({ me, slug, title: `${verb} ${slug}`, body: form });
}

export async function answerStateForm({
  deps,
  cookies,
  context,
  fields,
}: Visit): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const disabled = fields.get("disabled") !== "no";
  await setAppDisabledByConsole(deps, cookies, { slug, disabled });
  return answerSeeOther(`${toAppPath(slug)}/settings`);
}
