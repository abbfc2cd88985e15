/** Deleting an app: what goes is said, its name is typed, then it goes in bounded steps. @module */
import { type AppEnd, deleteAppByConsole, describeAppEnd } from "../accounts/mod.ts";
import { answerSeeOther, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct } from "./app_page.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { renderActForm, renderFault, renderTextField } from "./parts.ts";
import { APPS, toAppPath } from "./paths.ts";
import { toMessages } from "./read.ts";

/** One request deletes for so long; what is left goes with the next. */
const WORK_MS = 15_000;

export async function answerDeletion(visit: Visit): Promise<Response> {
  return await answerForm(visit, []);
}

export async function answerDeletionForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const slug = context.params["app"] ?? "";
  if (fields.get("typed_name") !== slug)
    return await answerForm(visit, [`Type ${slug} to delete it`]);
  const end = performance.now() + WORK_MS;
  const isLate = () => performance.now() > end;
  try {
    if (await deleteAppByConsole({ ...deps, isLate }, cookies, slug)) return answerSeeOther(APPS);
    return await answerForm(visit, ["It has many rows and is not gone yet: delete it again"]);
  } catch (error) {
    if (!(error instanceof Problem) || !RETRIED.includes(error.code)) throw error;
    return await answerForm(visit, toMessages(error));
  }
}

const RETRIED: readonly string[] = ["invalid_request", "push_busy"];

async function answerForm(
  { deps, cookies, context, token }: Visit,
  faults: readonly string[],
): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const end = await describeAppEnd(deps, cookies, slug);
  const { me, hindrances } = end;
  if (!me.isFresh) return answerToSignIn(context);
  const status = faults.length > 0 ? 422 : 200;
  if (hindrances.length > 0) {
    const reasons = hindrances.map(({ path, message }) => `${path.split("/").at(-1)}: ${message}`);
    const body = renderFault("It cannot be deleted: others need tables that it owns.", reasons);
    return answerAppAct({ me, slug, title: `Delete ${slug}`, body, status });
  }
  const form = renderActForm({
    action: `${toAppPath(slug)}/delete`,
    token,
    fields: [
      renderContents(end),
      renderTextField({
        name: "typed_name",
        label: `Type ${slug} to delete it`,
        maxLength: 40,
        isRequired: true,
        mustBe: slug,
      }),
    ],
    button: "Delete for good",
    look: "danger",
    cancel: `${toAppPath(slug)}/settings`,
  });
  const body = [faults.length > 0 && renderFault("It was not deleted.", faults), form];
  return answerAppAct({ me, slug, title: `Delete ${slug}`, body, status });
}

function renderContents({ keys, grants, tables, migrations }: AppEnd): Part {
  const owned = tables.filter(({ isOwned }) => isOwned).map(({ name }) => name);
  return html`<p>This goes with it, and cannot be undone:</p>
<ul class="plain">${tables.length > 0 && html`<li>its rows of ${tables.map(({ name }) => name).join(", ")}</li>`}
${owned.length > 0 && html`<li>the tables that it owns: ${owned.join(", ")}</li>`}
<li>${count(keys, "key")}, ${count(grants, "role")} of people, ${count(migrations, "migration")}</li></ul>`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
