/** Ending an app's use of a table: the table's name is typed, then the data service deletes the rows. @module */
import {
  endRegistrationByConsole,
  findEndByConsole,
  listConsoleAppTables,
} from "../accounts/mod.ts";
import { answerSeeOther, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { renderActForm, renderFault, renderLink } from "./parts.ts";
import { toAppTablesPath, toRowsPath } from "./paths.ts";
import { toMessages } from "./read.ts";
import { renderTypedName } from "./typed_name.ts";

/** A request waits for so long; the data service goes on after that. */
const WAIT_MS = 10_000;

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
    const end = performance.now() + WAIT_MS;
    const isLate = () => performance.now() > end;
    const use = { slug, table, told };
    const state = await endRegistrationByConsole({ ...deps, isLate }, cookies, use);
    if (state !== "refused") return answerSeeOther(toAppTablesPath(slug));
    return await answerForm(visit, [
      "Rows of another table refer to those: that table must go first",
    ]);
  } catch (error) {
    return await answerForm(visit, toRefusal(error));
  }
}

const REFUSED: readonly string[] = ["invalid_request", "push_busy"];

/** Why not, for the page; whatever else went wrong is thrown on. */
function toRefusal(error: unknown): string[] {
  if (!(error instanceof Problem)) throw error;
  if (REFUSED.includes(error.code)) return toMessages(error);
  throw error;
}

async function answerForm(visit: Visit, faults: readonly string[]): Promise<Response> {
  const { deps, cookies, context, token } = visit;
  const { app: slug = "", table = "" } = context.params;
  let found: string[] = [];
  let hindrances: string[] = [];
  try {
    found = await findEndByConsole(deps, cookies, { slug, table });
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

function renderEffect(slug: string, names: readonly string[]): Part {
  const one = names.length === 1;
  return html`<input type="hidden" name="told" value="${names.join(",")}">
<p>This goes, and cannot be undone:</p>
<ul class="plain">${names.map((name) => html`<li>all rows of ${slug} in <b>${name}</b></li>`)}</ul>
${!one && html`<p>These tables reference each other and are removed together.</p>`}
<p>${slug} is answered 404 for ${one ? "it" : "them"} then. The ${one ? "table" : "tables"} and other apps' rows stay; a push of ${slug} registers ${one ? "it" : "them"} again.</p>`;
}
