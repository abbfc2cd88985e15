/** Drops an unused table: lists the effects and requires the typed name. @module */
import { type DroppedTable, dropTable } from "../accounts/apps/mod.ts";
import { html, type Part } from "../pages/mod.ts";
import { redirectWithNotice } from "./done.ts";
import { checkTypedName, makeFormPage, renderTypedName, toVisibleMessages } from "./form_page.ts";
import { renderError, renderLink } from "./parts.ts";
import { TABLES, toTablePath } from "./paths.ts";
import { readTable, renderRowCount, respondWithTableAction } from "./table_parts.ts";

export const dropTablePage = makeFormPage({
  action: "drop_table",
  read: async (visit) => {
    const { table = "" } = visit.context.params;
    const found = dropTable(visit.deps, { table }).then((dropped) => ({ dropped }));
    const page = await found.catch((error) => ({ reasons: toVisibleMessages(error) }));
    return { ...(await readTable(visit)), ...page };
  },
  title: ({ table }) => `Drop ${table.name}`,
  form: ({ table: { name, size }, ...page }) => {
    if ("reasons" in page)
      return {
        instead: [
          renderError("The table cannot be dropped.", page.reasons),
          renderLink("Back to the table", toTablePath(name)),
        ],
        status: 422,
      };
    return {
      fields: [
        renderEffect(page.dropped, size?.rows == null ? undefined : renderRowCount(size)),
        renderTypedName(name, "drop it"),
      ],
      button: "Drop permanently",
      tone: "danger",
    };
  },
  run: async (visit, { table: { name: table } }) => {
    checkTypedName(visit, table, "drop it");
    await dropTable(visit.deps, {
      table,
      expected: (visit.fields.get("expected") ?? "").split(","),
    });
    return redirectWithNotice(TABLES, "dropped");
  },
  cancel: (_visit, { table }) => toTablePath(table.name),
  respond: respondWithTableAction,
  failed: "The table was not dropped.",
});

function renderEffect(found: readonly DroppedTable[], rows: Part): Part {
  const names = found.map(({ name }) => name);
  return html`<input type="hidden" name="expected" value="${names.join(",")}">
<p>This cannot be undone. Removed:</p>
<ul class="plain">${found.map(({ name, owner }) => html`<li>the table <b>${name}</b>, owned by ${owner}</li>`)}
<li>all rows that are left in ${names.length === 1 ? "it" : "them"}${rows !== undefined && html` (about ${rows})`}</li></ul>
${names.length > 1 && html`<p>These tables reference each other and are removed together.</p>`}
<p>No app uses ${names.length === 1 ? "it. Any app can then use the name" : "them. Any app can then use the names"}.</p>`;
}
