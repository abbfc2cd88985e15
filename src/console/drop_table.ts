/** Dropping a table that no app uses any more: what goes is said, its name is typed. @module */
import { type DroppedTable, dropTableByConsole, showConsoleTable } from "../accounts/mod.ts";
import { answerSeeOther, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderActForm, renderFault, renderLink } from "./parts.ts";
import { TABLES, toTablePath } from "./paths.ts";
import { toMessages } from "./read.ts";
import { renderRowCount } from "./table_parts.ts";
import { renderTypedName } from "./typed_name.ts";

export async function answerDrop(visit: Visit): Promise<Response> {
  return await answerForm(visit, []);
}

export async function answerDropForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const table = context.params["table"] ?? "";
  if (fields.get("typed_name") !== table)
    return await answerForm(visit, [`Type ${table} to drop it`]);
  try {
    await dropTableByConsole(deps, cookies, { table, told: fields.get("told") ?? "" });
    return answerSeeOther(TABLES);
  } catch (error) {
    if (!(error instanceof Problem) || !REFUSED.includes(error.code)) throw error;
    return await answerForm(visit, toMessages(error));
  }
}

const REFUSED: readonly string[] = ["invalid_request", "push_busy"];

async function answerForm(visit: Visit, faults: readonly string[]): Promise<Response> {
  const { deps, cookies, context } = visit;
  const name = context.params["table"] ?? "";
  const found = await dropTableByConsole(deps, cookies, { table: name }).catch((error) => {
    if (error instanceof Problem && REFUSED.includes(error.code)) return toMessages(error);
    throw error;
  });
  const { me, table } = await showConsoleTable(deps, cookies, name);
  const path = toTablePath(name);
  const isRefused = (one: readonly (string | DroppedTable)[]): one is string[] =>
    one.some((part) => typeof part === "string");
  const body = isRefused(found)
    ? [renderFault("It cannot be dropped.", found), renderLink("Back to the table", path)]
    : [
        faults.length > 0 && renderFault("It was not dropped.", faults),
        renderActForm({
          action: `${path}/drop`,
          token: visit.token,
          fields: [
            renderEffect(found, table.size?.rows == null ? undefined : renderRowCount(table.size)),
            renderTypedName(name, "drop it"),
          ],
          button: "Drop for good",
          look: "danger",
          cancel: path,
        }),
      ];
  return answerConsolePage({
    me,
    entry: "Tables",
    title: `Drop ${name}`,
    crumbs: [
      { name: "Tables", path: TABLES },
      { name, path },
    ],
    body,
    status: faults.length > 0 || isRefused(found) ? 422 : 200,
  });
}

function renderEffect(found: readonly DroppedTable[], rows: Part): Part {
  const names = found.map(({ name }) => name);
  return html`<input type="hidden" name="told" value="${names.join(",")}">
<p>This goes, and cannot be undone:</p>
<ul class="plain">${found.map(({ name, owner }) => html`<li>the table <b>${name}</b>, which ${owner} owned</li>`)}
<li>every row that is left in ${names.length === 1 ? "it" : "them"}${rows !== undefined && html`, of which there are about ${rows}`}</li></ul>
${names.length > 1 && html`<p>They refer to each other, and go together.</p>`}
<p>No app uses ${names.length === 1 ? "it. The name is" : "them. The names are"} free then, for any app.</p>`;
}
