/** How many requests an app may send: of all its keys together, and of each of them. @module */

import { refuseFor } from "../accounts/actions/mod.ts";
import { DEFAULT_PER_MINUTE, setLimit } from "../accounts/apps/mod.ts";
import { answerSeeOther, html } from "../pages/mod.ts";
import { quote } from "../std/quote.ts";
import { answerAppAct, readApp } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { makeFormPage } from "./form_page.ts";
import { renderTextField } from "./parts.ts";
import { toAppPath } from "./paths.ts";

export const limitsPage = makeFormPage({
  read: readApp,
  title: () => "Limits",
  form: ({ app }, { fields }) => ({
    fields: [
      renderTextField({
        name: "perMinute",
        label: "Requests a minute",
        hint: html`Of all its keys together. Empty: ${DEFAULT_PER_MINUTE.toLocaleString("en")}.`,
        value: fields.get("perMinute")?.trim() ?? String(app.perMinute ?? ""),
        maxLength: 20,
        isFirst: true,
      }),
      renderTextField({
        name: "perMinuteOfKey",
        label: "Requests a minute of each key",
        hint: "So that one program leaves room for the others. Empty: as many as the app.",
        value: fields.get("perMinuteOfKey")?.trim() ?? String(app.perMinuteOfKey ?? ""),
        maxLength: 20,
      }),
    ],
    button: "Save",
  }),
  run: async ({ deps, fields }, { slug }) => {
    await setLimit(deps, { slug, ...readLimits(fields) });
    return answerSeeOther(`${toAppPath(slug)}/settings`);
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  answer: answerAppAct,
  isForAnySignIn: true,
});

/** Nothing typed is the default. @throws {Problem} invalid_request — with every issue */
function readLimits(fields: Visit["fields"]) {
  const typed = ["perMinute", "perMinuteOfKey"].map((name) => (fields.get(name) ?? "").trim());
  const faults = typed.filter((text) => !/^[\d,]*$/.test(text)).map(toFault);
  if (faults.length > 0) throw refuseFor(faults);
  const [perMinute, perMinuteOfKey] = typed.map((text) =>
    text === "" ? undefined : Number(text.replaceAll(",", "")),
  );
  return { perMinute, perMinuteOfKey };
}

function toFault(text: string) {
  const message = `Cannot read ${quote(text)} as a number of requests: write digits, or nothing`;
  return { path: "", message };
}
