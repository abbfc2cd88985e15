/** Disabling an app, and enabling it again. @module */
import { setAppDisabled } from "../accounts/apps/mod.ts";
import { html } from "../pages/mod.ts";
import { answerAppAct, readApp } from "./app_page.ts";
import { answerDone } from "./done.ts";
import { makeFormPage } from "./form_page.ts";
import { toAppPath } from "./paths.ts";

export const statePage = makeFormPage({
  action: "set_app_disabled",
  read: readApp,
  title: ({ slug, app }) => `${app.disabledAt === null ? "Disable" : "Enable"} ${slug}`,
  form: ({ slug, app }) => {
    const isDisabled = app.disabledAt !== null;
    return {
      // What is wanted, not a toggle: a form that is sent twice changes nothing the second time.
      fields: html`<input type="hidden" name="disabled" value="${isDisabled ? "no" : "yes"}">
<p>${isDisabled ? "Its keys work again at once, and people can open it." : "Its keys are refused at once by every process, and people cannot open it. Nothing is deleted."}</p>`,
      button: `${isDisabled ? "Enable" : "Disable"} ${slug}`,
      look: isDisabled ? "primary" : "danger",
    };
  },
  run: async ({ deps, fields }, { slug }) => {
    const disabled = fields.get("disabled") !== "no";
    await setAppDisabled(deps, slug, disabled);
    return answerDone(`${toAppPath(slug)}/settings`, disabled ? "app-disabled" : "app-enabled");
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  answer: answerAppAct,
});
