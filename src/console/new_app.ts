/** Creates an app: slug, origins and redirects. @module */
import { createApp, SLUG } from "../accounts/apps/mod.ts";
import { readConsole } from "../accounts/console/mod.ts";
import { redirectWithNotice } from "./done.ts";
import { makeFormPage, readText, renderInput } from "./form_page.ts";
import { respondWithConsolePage } from "./frame.ts";
import { APPS, toAppPath } from "./paths.ts";
import { readTargetFields, renderTargetFields } from "./settings.ts";

export const newAppPage = makeFormPage({
  action: "create_app",
  read: ({ deps }) => readConsole(deps, "list_apps", { search: "", after_slug: "", max_rows: 0 }),
  title: () => "New app",
  form: (_content, visit) => ({
    fields: [
      renderInput("slug", SLUG, readText(visit.fields, "slug"), { isFirst: true }),
      renderTargetFields(visit),
    ],
    button: "Create the app",
  }),
  run: async (visit) => {
    const slug = readText(visit.fields, "slug");
    await createApp(visit.deps, { slug, ...readTargetFields(visit) });
    return redirectWithNotice(toAppPath(slug), "created");
  },
  cancel: () => APPS,
  respond: ({ me }, page) =>
    respondWithConsolePage({ me, crumbs: [{ name: "Apps", path: APPS }], ...page }),
  failed: "No app was created.",
});
