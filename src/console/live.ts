/** Live updates of an app: on or off. @module */
import { setAppLive } from "../accounts/apps/mod.ts";
import { answerSeeOther, html } from "../pages/mod.ts";
import { answerAppAct, readApp } from "./app_page.ts";
import { makeFormPage } from "./form_page.ts";
import { toAppPath } from "./paths.ts";

export const livePage = makeFormPage({
  action: "set_app_live",
  read: readApp,
  title: ({ slug, app }) => `${app.isLive ? "Turn off" : "Turn on"} live updates of ${slug}`,
  form: ({ app: { isLive } }) => ({
    // The wanted state, not a toggle: a form that is sent twice has no second effect.
    fields: html`<input type="hidden" name="live" value="${isLive ? "no" : "yes"}">
<p>${isLive ? "Event streams of its tables end immediately. Clients poll instead." : "Clients whose key has data:read can stream the changes of its tables. Each write also records the ids of its rows for 10 to 20 minutes."}</p>`,
    button: isLive ? "Turn off" : "Turn on",
  }),
  run: async ({ deps, fields }, { slug }) => {
    await setAppLive(deps, slug, fields.get("live") === "yes");
    return answerSeeOther(`${toAppPath(slug)}/settings`);
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  answer: answerAppAct,
});
