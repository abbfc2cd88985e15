/** Settings of an app that are on or off: live updates, and the list of its people. @module */
import { setAppLive, setPeopleList } from "../accounts/apps/mod.ts";
import type { AppView } from "../accounts/console/mod.ts";
import { html, redirect } from "../pages/mod.ts";
import { makeAppAction } from "./app_page.ts";
import { toAppPath } from "./paths.ts";

type Switch = {
  action: "set_app_live" | "set_people_list";
  set: typeof setAppLive;
  isOn: (app: AppView) => boolean;
  /** The name of the setting in a sentence. */
  subject: string;
  /** The effects of turning it on and off. */
  effects: { on: string; off: string };
};

/** The form sends the wanted state, not a toggle, so that sending it twice changes nothing. */
function makeSwitchPage({ action, set, isOn, subject, effects }: Switch) {
  return makeAppAction({
    action,
    title: ({ slug, app }) => `${isOn(app) ? "Turn off" : "Turn on"} ${subject} of ${slug}`,
    form: ({ app }) => ({
      fields: html`<input type="hidden" name="wanted" value="${isOn(app) ? "off" : "on"}">
<p>${isOn(app) ? effects.off : effects.on}</p>`,
      button: isOn(app) ? "Turn off" : "Turn on",
    }),
    run: async ({ deps, fields }, { slug }) => {
      await set(deps, slug, fields.get("wanted") === "on");
      return redirect(`${toAppPath(slug)}/settings`);
    },
    cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  });
}

export const livePage = makeSwitchPage({
  action: "set_app_live",
  set: setAppLive,
  isOn: ({ isLive }) => isLive === true,
  subject: "live updates",
  effects: {
    on: "Clients whose key has data:read can stream the changes of its tables. Each write also records the ids of its rows for 10 to 20 minutes.",
    off: "Event streams of its tables end immediately. Clients poll instead.",
  },
});

export const listPeoplePage = makeSwitchPage({
  action: "set_people_list",
  set: setPeopleList,
  isOn: ({ listsPeople }) => listsPeople,
  subject: "the list of people",
  effects: {
    on: "Each person with a role on the app can list the others: id, name, picture and role, never addresses.",
    off: "The app can no longer list its people.",
  },
});
