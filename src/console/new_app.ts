/** Creating an app: its slug, and where its pages live. @module */
import { createApp } from "../accounts/apps/mod.ts";
import { listConsoleApps } from "../accounts/console/mod.ts";
import { answerSeeOther } from "../pages/mod.ts";
import { makeFormPage } from "./form_page.ts";
import { answerConsolePage } from "./frame.ts";
import { renderTextField } from "./parts.ts";
import { APPS, toAppPath } from "./paths.ts";
import { readTargetFields, renderTargetFields } from "./settings.ts";

export const newAppPage = makeFormPage({
  read: ({ deps, cookies }) => listConsoleApps(deps, cookies, { search: "", after: "", most: 0 }),
  title: () => "New app",
  form: (_content, visit) => ({
    fields: [
      renderTextField({
        name: "slug",
        label: "Name",
        hint: "2 to 40 of a-z, 0-9 and -, beginning with a letter. Addresses and commands use it.",
        value: (visit.fields.get("slug") ?? "").trim(),
        maxLength: 40,
        isRequired: true,
        isFirst: true,
      }),
      renderTargetFields(visit),
    ],
    button: "Create the app",
  }),
  run: async (visit) => {
    const slug = (visit.fields.get("slug") ?? "").trim();
    await createApp(visit.deps, { slug, ...readTargetFields(visit) });
    return answerSeeOther(toAppPath(slug));
  },
  cancel: () => APPS,
  answer: ({ me }, page) =>
    answerConsolePage({ me, entry: "Apps", crumbs: [{ name: "Apps", path: APPS }], ...page }),
  failed: "No app was created.",
  isForAnySignIn: true,
});
