/** How many requests an app may send: of all its keys together, and of each of them. @module */
import { PER_MINUTE, PER_MINUTE_OF_KEY, setLimit } from "../accounts/apps/mod.ts";
import { answerAppAct, readApp } from "./app_page.ts";
import { answerDone } from "./done.ts";
import { makeFormPage, readInputs, renderInput } from "./form_page.ts";
import { toAppPath } from "./paths.ts";

const INPUTS = { perMinute: PER_MINUTE, perMinuteOfKey: PER_MINUTE_OF_KEY };

export const limitsPage = makeFormPage({
  action: "set_limit",
  read: readApp,
  title: () => "Limits",
  form: ({ app }, { fields }) => ({
    fields: Object.entries(INPUTS).map(([name, input]) =>
      renderInput(name, input, fields.get(name) ?? String(app[name as keyof typeof INPUTS] ?? "")),
    ),
    button: "Save",
  }),
  run: async ({ deps, fields }, { slug }) => {
    await setLimit(deps, { slug, ...readInputs(fields, INPUTS) });
    return answerDone(`${toAppPath(slug)}/settings`, "limits");
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  answer: answerAppAct,
});
