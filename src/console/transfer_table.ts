/** Transfers a table to another app that uses it; requires the typed table name. @module */

import { transferTable } from "../accounts/apps/mod.ts";
import type { TableView } from "../accounts/console/mod.ts";
import { html, type Part } from "../pages/mod.ts";
import { redirectWithNotice } from "./done.ts";
import { checkTypedName, makeFormPage, renderTypedName } from "./form_page.ts";
import { renderEmpty, renderLink, renderSelect, renderTextField } from "./parts.ts";
import { toAppPath, toTablePath } from "./paths.ts";
import { readTable, respondWithTableAction } from "./table_parts.ts";

export const transferTablePage = makeFormPage({
  action: "transfer_table",
  read: readTable,
  title: ({ table }) => `Transfer ownership of ${table.name}`,
  form: ({ table }, { fields }) =>
    table.uses.every(({ apps }) => apps.every((slug) => slug === table.owner))
      ? {
          instead: renderEmpty(
            "No other app uses this table. The new owner must first declare the table and push.",
            renderLink("Back to the table", toTablePath(table.name)),
          ),
          status: 200,
        }
      : {
          fields: [
            renderEffect(table),
            renderNewOwner(table, fields.get("app") ?? ""),
            renderTypedName(table.name, "transfer its ownership"),
          ],
          button: "Transfer ownership",
        },
  run: async (visit, { table: { name: table } }) => {
    checkTypedName(visit, table, "transfer its ownership");
    await transferTable(visit.deps, { table, slug: (visit.fields.get("app") ?? "").trim() });
    return redirectWithNotice(toTablePath(table), "transferred");
  },
  cancel: (_visit, { table }) => toTablePath(table.name),
  respond: respondWithTableAction,
  failed: "Ownership was not transferred.",
});

function renderEffect({ name, owner }: TableView): Part {
  return html`<p><a href="${toAppPath(owner)}">${owner}</a> owns <b>${name}</b>: its pushes define the table. After the transfer, the new owner's pushes do. Rows do not move, and each app still sees only its own rows.</p>`;
}

/** Only an app that uses the table can own it: lists these apps, or accepts a name if there are many. */
function renderNewOwner({ owner, uses, users }: TableView, typed: string): Part {
  if (users.count > MAX_CHOICES)
    return renderTextField({
      name: "app",
      label: "New owner",
      hint: "An app that uses the table",
      value: typed,
      maxLength: 40,
      isRequired: true,
    });
  const choices = uses.flatMap(({ apps }) => apps.map((slug) => ({ value: slug, label: slug })));
  return renderSelect({
    name: "app",
    label: "New owner (an app that uses the table)",
    choices: choices
      .filter(({ value }) => value !== owner)
      .sort((a, b) => (a.value < b.value ? -1 : 1)),
    value: typed,
  });
}

const MAX_CHOICES = 100;
