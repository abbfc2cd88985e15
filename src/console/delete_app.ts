/** Deletes an app: lists the effects, requires the typed name, then deletes in bounded steps. @module */
import { type AppEnd, deleteAppByConsole, readConsole } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { respondWithAppAction } from "./app_page.ts";
import { redirectWithNotice } from "./done.ts";
import { checkTypedName, makeFormPage, renderTypedName } from "./form_page.ts";
import { renderError } from "./parts.ts";
import { APPS, toAppPath, toTablePath } from "./paths.ts";
import { countOf } from "./table_parts.ts";

/** Max time per request; the next request continues. */
const WORK_MS = 15_000;

export const deleteAppPage = makeFormPage({
  action: "delete_app_step",
  read: async ({ deps, context }) => {
    const { app: slug = "" } = context.params;
    return { ...(await readConsole(deps, "describe_app", { app_slug: slug })), slug };
  },
  title: ({ slug }) => `Delete ${slug}`,
  form: (content) => {
    const { slug } = content;
    const blockers = renderBlockers(content);
    if (blockers.length > 0)
      return {
        instead: renderError(`Cannot delete ${slug}: other apps need its tables.`, blockers),
      };
    return {
      fields: [renderContents(content), renderTypedName(slug, "delete it")],
      button: "Delete permanently",
      tone: "danger",
    };
  },
  run: async (visit, { slug }) => {
    checkTypedName(visit, slug, "delete it");
    const end = performance.now() + WORK_MS;
    const isOverdue = () => performance.now() > end;
    if (await deleteAppByConsole({ ...visit.deps, isOverdue }, slug))
      return redirectWithNotice(APPS, "app-deleted");
    const message =
      "The app has many rows and is not fully deleted yet. Delete it again to continue";
    throw new Problem("invalid_request", { message });
  },
  cancel: (_visit, { slug }) => `${toAppPath(slug)}/settings`,
  respond: respondWithAppAction,
  failed: "The app was not deleted.",
});

/** Tables that other apps need, each with a link to resolve it. */
function renderBlockers({ used, referredTo }: AppEnd): Html[] {
  return [
    ...used.map(
      ({ table, by }) =>
        html`<b>${table}</b> is used by ${by.join(", ")}. <a href="${toTablePath(table)}/transfer">Transfer ownership of ${table}</a>`,
    ),
    ...referredTo.map(
      ({ table, by }) =>
        html`The table <b>${by}</b> of another app references ${table}. <a href="${toTablePath(by)}">Open ${by}</a>`,
    ),
  ];
}

function renderContents({ keys, grants, tables, migrations }: AppEnd): Part {
  const owned = tables.filter(({ isOwned }) => isOwned).map(({ name }) => name);
  return html`<p>This cannot be undone. Deleted with the app:</p>
<ul class="plain">${tables.length > 0 && html`<li>its rows in ${tables.map(({ name }) => name).join(", ")}</li>`}
${owned.length > 0 && html`<li>the tables that it owns: ${owned.join(", ")}</li>`}
<li>${countOf(keys, "key")}, ${countOf(grants, "role")} of people, ${countOf(migrations, "migration")}</li></ul>`;
}
