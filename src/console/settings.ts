/** An app's settings: origins, limits, live updates, the list of people, and state. @module */
import {
  DEFAULT_PER_MINUTE,
  PER_MINUTE,
  PER_MINUTE_OF_KEY,
  setAppDisabled,
  setAppLive,
  setLimit,
  setPeopleList,
  setTargets,
  type TypedTargets,
} from "../accounts/apps/mod.ts";
import type { AppView } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { makeAppAction, readApp, respondWithAppPage, toAppCrumbs } from "./app_page.ts";
import { redirectWithNotice, renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { makeFormPage, readInputs, renderInput } from "./form_page.ts";
import { renderLink, renderTextField } from "./parts.ts";
import { toAppPath } from "./paths.ts";
import { readLines } from "./read.ts";

export const settingsPage = makeFormPage({
  action: "set_targets",
  read: readApp,
  title: ({ slug }) => slug,
  form: ({ app }, visit) => ({
    fields: [
      renderTargetFields(visit, app),
      TARGET_KINDS.map((kind) => renderInitial(visit, kind, app[kind].join("\n"))),
    ],
    button: "Save",
  }),
  run: async (visit, { slug, app }) => {
    const { cookieDomain, ...typed } = readTargetFields(visit);
    const changes = toTargetChanges(visit, typed, app);
    await setTargets(visit.deps, { slug, replaced: [], ...changes, cookieDomain });
    return redirectWithNotice(toSettingsPath({ slug }), "settings");
  },
  back: ({ slug }) => toAppPath(slug),
  crumbs: toAppCrumbs,
  respond: ({ me, slug, app }, { body, status }, visit) =>
    respondWithAppPage({
      me,
      slug,
      isDisabled: app.disabledAt !== null,
      tab: "Settings",
      status,
      body: [
        status === 200 && renderDone(visit),
        body,
        renderLimits(slug, app),
        app.isLive !== null &&
          renderSwitch(`${toAppPath(slug)}/live`, {
            title: "Live updates",
            isOn: app.isLive,
            text: app.isLive
              ? "On: clients can stream the changes of its tables."
              : "Off: clients poll for changes.",
          }),
        renderSwitch(`${toAppPath(slug)}/people-list`, {
          title: "List of people",
          isOn: app.listsPeople,
          text: app.listsPeople
            ? "On: people with a role can list the others, without addresses."
            : "Off: the app only learns who is signed in.",
        }),
        renderLife(slug, app.disabledAt !== null),
      ],
    }),
});

function toSettingsPath({ slug }: { slug: string }): string {
  return `${toAppPath(slug)}/settings`;
}

const TARGET_KINDS = ["origins", "redirects"] as const;

/** The value that the form shows, so that saving it does not undo another administrator's change. */
function renderInitial({ fields }: Visit, field: string, stored: string): Html {
  const name = `initial_${field}`;
  return html`<input type="hidden" name="${name}" value="${fields.get(name) ?? stored}">`;
}

function toTargetChanges({ fields }: Visit, typed: TypedTargets, app: AppView) {
  const initialOf = (kind: keyof TypedTargets) => {
    const initial = fields.get(`initial_${kind}`);
    return initial === undefined ? app[kind] : readLines(initial);
  };
  const addedOf = (kind: keyof TypedTargets) =>
    typed[kind].filter((url) => !initialOf(kind).includes(url));
  const removedOf = (kind: keyof TypedTargets) =>
    initialOf(kind).filter((url) => !typed[kind].includes(url) && app[kind].includes(url));
  return {
    add: { origins: addedOf("origins"), redirects: addedOf("redirects") },
    remove: { origins: removedOf("origins"), redirects: removedOf("redirects") },
  };
}

function renderLimits(slug: string, { perMinute, perMinuteOfKey }: AppView): Html {
  const ofApp = perMinute ?? DEFAULT_PER_MINUTE;
  const ofKey = perMinuteOfKey ?? ofApp;
  return html`<section class="sheet" aria-labelledby="limits"><h2 id="limits">Limits</h2>
<p class="quiet">${ofApp.toLocaleString("en")} requests per minute, ${ofKey.toLocaleString("en")} per key. Requests over the limit get a 429 response.</p>
<div class="action-buttons">${renderLink("Change limits", `${toAppPath(slug)}/limits`, "quiet", { isDialog: true })}</div></section>`;
}

/** A setting that is on or off; `path` is the page that changes it. */
function renderSwitch(
  path: string,
  { title, isOn, text }: { title: string; isOn: boolean; text: string },
): Html {
  const id = path.slice(path.lastIndexOf("/") + 1);
  return html`<section class="sheet" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
<p class="quiet">${text}</p>
<div class="action-buttons">${renderLink(isOn ? "Turn off" : "Turn on", path)}</div></section>`;
}

function renderLife(slug: string, isDisabled: boolean): Html {
  return html`<section class="sheet" aria-labelledby="life"><h2 id="life">${isDisabled ? "Enable or delete" : "Disable or delete"}</h2>
<p class="quiet">${isDisabled ? "This app is disabled. Its keys do not work, and people cannot open it. Its rows, keys and roles are retained." : "Disabling stops all keys and hides the app from people. Its rows, keys and roles are retained."} Deleting removes all of them.</p>
<div class="action-buttons">${renderLink(isDisabled ? "Enable" : "Disable", `${toAppPath(slug)}/state`, "quiet", { isDialog: true })}${renderLink("Delete", `${toAppPath(slug)}/delete`, "danger", { isDialog: true })}</div></section>`;
}

const MAX_CHARS = 6000;

/** The fields for an app's origins and redirects, with the sent or stored values. */
export function renderTargetFields(
  { deps, fields }: Visit,
  stored: TypedTargets = { origins: [], redirects: [] },
): Part {
  const example = deps.identity.cookieDomain ?? "example.org";
  return [
    renderTextField({
      name: "origins",
      label: "Origins",
      hint: html`The origins that serve the app's pages, one per line, such as <code>https://wiki.${example}</code>. Leave empty for an app without pages.`,
      value: fields.get("origins") ?? stored.origins.join("\n"),
      rows: 3,
      maxLength: MAX_CHARS,
    }),
    renderTextField({
      name: "redirects",
      label: "Additional redirect URLs after sign-in",
      hint: html`One per line, with the path. Pages of the origins are always allowed.`,
      value: fields.get("redirects") ?? stored.redirects.join("\n"),
      rows: 2,
      maxLength: MAX_CHARS,
    }),
  ];
}

export function readTargetFields({ deps, fields }: Visit) {
  return {
    origins: readLines(fields.get("origins")),
    redirects: readLines(fields.get("redirects")),
    cookieDomain: deps.identity.cookieDomain,
  };
}

const INPUTS = { perMinute: PER_MINUTE, perMinuteOfKey: PER_MINUTE_OF_KEY };
type LimitName = keyof typeof INPUTS;
const LIMITS = Object.keys(INPUTS) as LimitName[];

export const limitsPage = makeAppAction({
  action: "set_limit",
  title: () => "Limits",
  form: ({ app }, visit) => ({
    fields: LIMITS.map((name) => {
      const stored = toLimitText(app, name);
      return [
        renderInput(name, INPUTS[name], visit.fields.get(name) ?? stored),
        renderInitial(visit, name, stored),
      ];
    }),
    button: "Save",
  }),
  run: async ({ deps, fields }, { slug, app }) => {
    const unchanged = LIMITS.filter((name) => fields.get(name) === fields.get(`initial_${name}`));
    const stored = unchanged.map((name) => [name, toLimitText(app, name)] as const);
    await setLimit(deps, { slug, ...readInputs(new Map([...fields, ...stored]), INPUTS) });
  },
  done: "limits",
  back: toSettingsPath,
});

function toLimitText(app: AppView, name: LimitName): string {
  return String(app[name] ?? "");
}

export const statePage = makeAppAction({
  action: "set_app_disabled",
  title: ({ slug, app }) => `${app.disabledAt === null ? "Disable" : "Enable"} ${slug}`,
  form: ({ slug, app }) => {
    const isDisabled = app.disabledAt !== null;
    return {
      // The wanted state, not a toggle, so that sending the form twice changes nothing.
      fields: html`<input type="hidden" name="disabled" value="${isDisabled ? "no" : "yes"}">
<p>${isDisabled ? "Its keys work again immediately, and people can open it." : "Its keys stop working immediately, and people cannot open it. Nothing is deleted."}</p>`,
      button: `${isDisabled ? "Enable" : "Disable"} ${slug}`,
      tone: isDisabled ? "primary" : "danger",
    };
  },
  run: ({ deps, fields }, { slug }) => setAppDisabled(deps, slug, fields.get("disabled") !== "no"),
  done: ({ fields }) => (fields.get("disabled") === "no" ? "app-enabled" : "app-disabled"),
  back: toSettingsPath,
});

type Switch = {
  action: "set_app_live" | "set_people_list";
  set: typeof setAppLive;
  isOn: (app: AppView) => boolean;
  /** The name of the setting in a sentence. */
  subject: string;
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
    run: ({ deps, fields }, { slug }) => set(deps, slug, fields.get("wanted") === "on"),
    back: toSettingsPath,
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
