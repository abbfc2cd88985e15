/** Ending an app's use of a table: its rows are counted and said, the table's name is typed, then they are deleted. @module */
import { type EndedUse, endRegistrationByConsole, listConsoleAppTables } from "../accounts/mod.ts";
import { answerSeeOther, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { renderActForm, renderFault, renderLink } from "./parts.ts";
import { toAppTablesPath, toRowsPath } from "./paths.ts";
import { toMessages } from "./read.ts";
import { countOf } from "./table_parts.ts";
import { renderTypedName } from "./typed_name.ts";

export async function answerEndUse(visit: Visit): Promise<Response> {
  return await answerForm(visit, []);
}

export async function answerEndUseForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const { app: slug = "", table = "" } = context.params;
  if (fields.get("typed_name") !== table)
    return await answerForm(visit, [`Type ${table} to end its use`]);
  try {
    const told = fields.get("told") ?? "";
    await endRegistrationByConsole(deps, cookies, { slug, table, told });
    return answerSeeOther(toAppTablesPath(slug));
  } catch (error) {
    return await answerForm(visit, toRefusal(error));
  }
}

const REFUSED: readonly string[] = ["invalid_request", "push_busy"];

/** Why not, for the page; whatever else went wrong is thrown on. */
function toRefusal(error: unknown): string[] {
  if (!(error instanceof Problem)) throw error;
  // All rows go in one statement, or none.
  if (error.code === "timeout")
    return [
      "It has too many rows for one request, and nothing was deleted: rowhouse admin end-registration takes as long as it needs",
    ];
  if (REFUSED.includes(error.code)) return toMessages(error);
  throw error;
}

async function answerForm(visit: Visit, faults: readonly string[]): Promise<Response> {
  const { deps, cookies, context, token } = visit;
  const { app: slug = "", table = "" } = context.params;
  let found: EndedUse[] = [];
  let hindrances: string[] = [];
  try {
    found = await endRegistrationByConsole(deps, cookies, { slug, table });
  } catch (error) {
    hindrances = toRefusal(error);
  }
  const { me } = await listConsoleAppTables(deps, cookies, { slug, after: "", most: 0 });
  const back = toAppTablesPath(slug);
  const body =
    hindrances.length > 0
      ? [renderFault("Its use cannot be ended.", hindrances), renderLink("Back", back)]
      : [
          faults.length > 0 && renderFault("Its use was not ended.", faults),
          renderActForm({
            action: `${toRowsPath(slug, table)}/end`,
            token,
            fields: [renderEffect(slug, found), renderTypedName(table, "end its use")],
            button: "End its use and delete the rows",
            look: "danger",
            cancel: back,
          }),
        ];
  const status = faults.length > 0 || hindrances.length > 0 ? 422 : 200;
  return answerAppAct({ me, slug, title: `End ${slug}'s use of ${table}`, body, status });
}

function renderEffect(slug: string, found: readonly EndedUse[]): Part {
  const names = found.map(({ name }) => name);
  const one = names.length === 1;
  return html`<input type="hidden" name="told" value="${names.join(",")}">
<p>This goes, and cannot be undone:</p>
<ul class="plain">${found.map(({ name, rows }) => html`<li><b>${countOf(rows, "row")}</b> of ${slug} in <b>${name}</b></li>`)}</ul>
${!one && html`<p>These tables refer to each other, so that the use of all of them ends.</p>`}
<p>${slug} is answered 404 for ${one ? "it" : "them"} then. The ${one ? "table" : "tables"} and other apps' rows stay; a push of ${slug} registers ${one ? "it" : "them"} again.</p>`;
}
