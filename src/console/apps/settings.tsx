/** @jsxImportSource #html @jsxRuntime automatic */
/** An app's settings: origins, limits, and what is on or off. @module */

import {
  APP_SWITCH_NAMES,
  type AppSwitchName,
  describeSwitch,
  toDashed,
  toSwitchHeading,
} from "../../app_switch.ts";
import type { FormFields, Html, Part } from "../../pages/mod.ts";
import {
  DEFAULT_PER_MINUTE,
  PER_MINUTE,
  PER_MINUTE_OF_KEY,
  setAppSwitch,
  setLimit,
  setTargets,
  settleAppSwitch,
  type TypedTargets,
  toExampleOrigin,
} from "../../records/apps/mod.ts";
import type { AppView } from "../../records/console/mod.ts";
import { inDigits } from "../../std/count.ts";
import { makeAppAction, readApp, respondWithAppPage, toAppCrumbs } from "../app_page.tsx";
import { readLines, type Visit } from "../enter.tsx";
import { makeFormPage } from "../form_page.tsx";
import { showRequests } from "../numbers.tsx";
import { renderLink } from "../parts.tsx";
import { redirectWithNotice, renderDone, toAppPath, toSwitchPath } from "../paths.ts";

const SETTINGS_SAVED = {
  settings: "Settings saved. They take effect on the next request.",
  unsettled:
    "The setting is on, but transactions that began before can still write without it. The operator can wait for them with rowhouse admin set-app, which names them.",
};
/** How long a page waits for writes that began before. */
const SETTLES_MS = 10_000;

const settingsPage = makeFormPage({
  action: "set_targets",
  read: readApp,
  title: ({ slug }) => slug,
  fields: ({ app }, visit) => makeTargetFields(visit, app),
  form: ({ app }, visit) => ({
    fields: TARGET_KINDS.map((kind) => renderInitial(visit, kind, app[kind].join("\n"))),
    button: "Save",
  }),
  run: async (visit, { slug, app }, values) => {
    const { cookieDomain, ...typed } = readTargetFields(visit, values);
    const changes = toTargetChanges(visit, typed, app);
    await setTargets(visit.deps, { slug, replaced: [], ...changes, cookieDomain });
    return redirectWithNotice(toSettingsPath({ slug }), "settings");
  },
  done: SETTINGS_SAVED,
  back: ({ slug }) => toAppPath(slug),
  crumbs: toAppCrumbs,
  respond: ({ me, slug, app }, { body, status }, visit) =>
    respondWithAppPage({
      visit,
      me,
      isDisabled: app.disabledAt !== null,
      tab: "Settings",
      status,
      body: [
        status === 200 && renderDone(visit),
        body,
        renderLimits(slug, app),
        APP_SWITCH_NAMES.filter((name) => isShown(name, app, visit.deps)).map((name) =>
          renderSwitch(slug, name, app.switches[name]),
        ),
        renderDeletion(slug),
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
  return <input type="hidden" name={name} value={fields.get(name) ?? stored} />;
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
  const text = (
    <>
      {showRequests(ofApp)} per minute, {inDigits(ofKey)} per key. Requests over the limit get a 429
      response.
    </>
  );
  const link = { name: "Change limits", path: `${toAppPath(slug)}/limits` };
  return renderSetting({ id: "limits", title: "Limits", text, link });
}

type Setting = {
  id: string;
  title: string;
  text: Part;
  link: { name: string; path: string; tone?: "danger" };
};

/** What is set, and a link to the form that changes it. */
function renderSetting({ id, title, text, link: { name, path, tone } }: Setting): Html {
  return (
    <section class="sheet" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p class="quiet">{text}</p>
      <div class="action-buttons">{renderLink(name, path, tone, { isDialog: true })}</div>
    </section>
  );
}

/** A setting that is on can be turned off without its preview, because it records. */
function isShown(name: AppSwitchName, { switches }: AppView, { previews }: Visit["deps"]) {
  const { preview } = describeSwitch(name);
  return preview === undefined || switches[name] || previews.includes(preview);
}

function renderSwitch(slug: string, name: AppSwitchName, isOn: boolean): Html {
  const { title, on, off, buttons } = describeSwitch(name);
  const text = isOn ? `On: ${on}` : `Off: ${off}`;
  const link = { name: isOn ? buttons.off : buttons.on, path: toSwitchPath(slug, name) };
  return renderSetting({ id: name, title, text, link });
}

function renderDeletion(slug: string): Html {
  const text = "Deleting removes the app with its rows, keys and roles.";
  const link = { name: "Delete", path: `${toAppPath(slug)}/delete`, tone: "danger" } as const;
  return renderSetting({ id: "life", title: "Delete", text, link });
}

const MAX_CHARS = 6000;

/** The fields for an app's origins and redirects, with the sent or stored values. */
export function makeTargetFields(
  { deps }: Visit,
  stored: TypedTargets = { origins: [], redirects: [] },
): FormFields<keyof TypedTargets> {
  const example = toExampleOrigin(deps.identity.cookieDomain);
  const field = { maxLength: MAX_CHARS, isOptional: true };
  return {
    origins: {
      ...field,
      label: "Origins",
      hint: `The origins that serve the app's pages, one per line, such as \`${example}\`. Leave empty for an app without pages.`,
      value: stored.origins.join("\n"),
      rows: 3,
    },
    redirects: {
      ...field,
      label: "Additional redirect URLs after sign-in",
      hint: "One per line, with the path. Pages of the origins are always allowed.",
      value: stored.redirects.join("\n"),
      rows: 2,
    },
  };
}

export function readTargetFields(
  { deps }: Visit,
  { origins, redirects }: Readonly<Record<keyof TypedTargets, string>>,
) {
  const { cookieDomain } = deps.identity;
  return { origins: readLines(origins), redirects: readLines(redirects), cookieDomain };
}

const LIMITS = ["perMinute", "perMinuteOfKey"] as const;

const limitsPage = makeAppAction({
  action: "set_limit",
  title: () => "Limits",
  fields: ({ app }) => ({
    perMinute: { ...PER_MINUTE, value: toLimitText(app, "perMinute") },
    perMinuteOfKey: { ...PER_MINUTE_OF_KEY, value: toLimitText(app, "perMinuteOfKey") },
  }),
  form: ({ app }, visit) => ({
    fields: LIMITS.map((name) => renderInitial(visit, name, toLimitText(app, name))),
    button: "Save",
  }),
  run: async ({ deps, fields }, { slug, app }, values) => {
    const limits = LIMITS.map((name) => {
      const isUnchanged = fields.get(name) === fields.get(`initial_${name}`);
      return [name, isUnchanged ? (app[name] ?? undefined) : values[name]];
    });
    await setLimit(deps, { slug, ...Object.fromEntries(limits) });
  },
  done: { limits: "Limits saved. They take effect on the next request." },
  back: toSettingsPath,
});

function toLimitText(app: AppView, name: (typeof LIMITS)[number]): string {
  return String(app[name] ?? "");
}

/** The page of each switch, by the last part of its path. The form sends the wanted state, so sending it twice changes nothing. */
const SWITCH_PAGES = Object.fromEntries(
  APP_SWITCH_NAMES.map((name) => [`set-${toDashed(name)}`, makeSwitchPage(name)]),
);

/** The pages below an app's page. */
export const SETTINGS_PAGES = { settings: settingsPage, limits: limitsPage, ...SWITCH_PAGES };

function makeSwitchPage(name: AppSwitchName) {
  const { on, off, buttons, isChange } = describeSwitch(name);
  const isOnIn = ({ app }: { app: AppView }) => app.switches[name];
  const toButton = (found: { app: AppView }) => (isOnIn(found) ? buttons.off : buttons.on);
  return makeAppAction({
    action: "set_app_switch",
    title: (found) => toSwitchHeading(name, found.slug, isOnIn(found) ? "off" : "on"),
    form: (found) => ({
      hidden: { wanted: isOnIn(found) ? "off" : "on" },
      intro: <p>Then {isOnIn(found) ? off : on}</p>,
      button: toButton(found),
      tone: isChange === true && !isOnIn(found) ? "danger" : "primary",
    }),
    run: async ({ deps, fields }, { slug }) => {
      const isOn = fields.get("wanted") === "on";
      await setAppSwitch(deps, slug, [name, isOn]);
      const left = isOn
        ? await settleAppSwitch(deps, slug, { setting: name, limitMs: SETTLES_MS })
        : [];
      return left.length > 0
        ? redirectWithNotice(toSettingsPath({ slug }), "unsettled")
        : undefined;
    },
    done: SETTINGS_SAVED,
    back: toSettingsPath,
  });
}
