/** Whether people with a role on an app may list the others: on or off. @module */
import { setPeopleList } from "../accounts/apps/mod.ts";
import { answerSeeOther, html } from "../pages/mod.ts";
import { answerAppAct, readApp } from "./app_page.ts";
import { makeFormPage } from "./form_page.ts";
import { toAppPath } from "./paths.ts";

export const listPeoplePage = makeFormPage({
  action: "set_people_list",
  read: readApp,
  title: ({ slug, app }) =>
    `${app.listsPeople ? "Turn off" : "Turn on"} the list of people of ${slug}`,
  form: ({ app: { listsPeople } }) => ({
    // The wanted state, not a toggle: a form that is sent twice has no second effect.
    fields: html`<input type="hidden" name="listed" value="${listsPeople ? "no" : "yes"}">
<p>${listsPeople ? "The app can no longer list its people." : "Each person with a role on the app can list the others: id, name, picture and role, never addresses."}</p>`,
    button: listsPeople ? "Turn off" : "Turn on",
  }),
  run: async ({ deps, fields }, { slug }) => {
    await setPeopleList(deps, slug, fields.get("listed") === "yes");
    return answerSeeOther(`${toAppPath(slug)}/settings`);
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  answer: answerAppAct,
});
