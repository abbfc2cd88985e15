/** Ends an app's use of a table: requires the typed name, then the data service deletes the rows. @module */
import { beginEndRegistration } from "../accounts/apps/mod.ts";
import { endRegistrationByConsole, readConsole } from "../accounts/console/mod.ts";
import { html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { respondWithAppAction } from "./app_page.ts";
import { redirectWithNotice } from "./done.ts";
import { checkTypedName, makeFormPage, renderTypedName, toVisibleMessages } from "./form_page.ts";
import { renderError, renderLink } from "./parts.ts";
import { toAppTablesPath } from "./paths.ts";

/** Max wait per request; the data service continues after it. */
const WAIT_MS = 10_000;

export const endUsePage = makeFormPage({
  action: "begin_end_registration",
  read: async ({ deps, context }) => {
    const { app: slug = "", table = "" } = context.params;
    const found = beginEndRegistration(deps, { slug, table }).then(({ tables }) => ({ tables }));
    const page = await found.catch((error) => ({ reasons: toVisibleMessages(error) }));
    const values = { app_slug: slug, after_name: "", max_rows: 0 };
    const { me } = await readConsole(deps, "list_app_tables", values);
    return { me, slug, table, ...page };
  },
  title: ({ slug, table }) => `Stop using ${table} in ${slug}`,
  form: ({ slug, table, ...page }) => {
    if ("reasons" in page)
      return {
        instead: [
          renderError("The app cannot stop using this table.", page.reasons),
          renderLink("Back", toAppTablesPath(slug)),
        ],
        status: 422,
      };
    return {
      fields: [renderEffect(slug, page.tables), renderTypedName(table, "stop using it")],
      button: "Stop using and delete rows",
      tone: "danger",
    };
  },
  run: async (visit, { slug, table }) => {
    checkTypedName(visit, table, "stop using it");
    const expected = (visit.fields.get("expected") ?? "").split(",");
    const end = performance.now() + WAIT_MS;
    const isOverdue = () => performance.now() > end;
    const state = await endRegistrationByConsole(
      { ...visit.deps, isOverdue },
      { slug, table, expected },
    );
    if (state !== "rejected") return redirectWithNotice(toAppTablesPath(slug), "use-ended");
    const message = "Rows of another table reference these rows: stop using that table first";
    throw new Problem("invalid_request", { message });
  },
  cancel: (_visit, { slug }) => toAppTablesPath(slug),
  respond: respondWithAppAction,
  failed: "The app still uses the table.",
});

function renderEffect(slug: string, names: readonly string[]): Part {
  const isOnly = names.length === 1;
  return html`<input type="hidden" name="expected" value="${names.join(",")}">
<p>This cannot be undone. Deleted:</p>
<ul class="plain">${names.map((name) => html`<li>all rows of ${slug} in <b>${name}</b></li>`)}</ul>
${!isOnly && html`<p>These tables reference each other and are removed together.</p>`}
<p>${slug} then gets 404 responses for ${isOnly ? "it" : "them"}. The ${isOnly ? "table" : "tables"} and other apps' rows are not deleted. A push of ${slug} registers ${isOnly ? "it" : "them"} again.</p>`;
}
