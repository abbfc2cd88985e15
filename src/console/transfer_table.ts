/** Handing a table to another app that uses it: the name of the table is typed first. @module */
import { type ShownTable, showConsoleTable, transferTableByConsole } from "../accounts/mod.ts";
import { answerSeeOther, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import {
  renderActForm,
  renderEmpty,
  renderFault,
  renderLink,
  renderSelect,
  renderTextField,
} from "./parts.ts";
import { TABLES, toAppPath, toTablePath } from "./paths.ts";
import { toMessages } from "./read.ts";
import { renderTypedName } from "./typed_name.ts";

export async function answerTransfer(visit: Visit): Promise<Response> {
  return await answerForm(visit, []);
}

export async function answerTransferForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const table = context.params["table"] ?? "";
  const slug = (fields.get("app") ?? "").trim();
  if (fields.get("typed_name") !== table)
    return await answerForm(visit, [`Type ${table} to hand it over`]);
  try {
    await transferTableByConsole(deps, cookies, { table, slug });
    return answerSeeOther(toTablePath(table));
  } catch (error) {
    if (!(error instanceof Problem) || !REFUSED.includes(error.code)) throw error;
    return await answerForm(visit, toMessages(error));
  }
}

const REFUSED: readonly string[] = ["invalid_request", "push_busy", "unknown_app"];

async function answerForm(visit: Visit, faults: readonly string[]): Promise<Response> {
  const { deps, cookies, context, fields, token } = visit;
  const { me, table } = await showConsoleTable(deps, cookies, context.params["table"] ?? "");
  if (!me.isFresh) return answerToSignIn(context);
  const path = toTablePath(table.name);
  const others = table.uses.flatMap(({ apps }) => apps).filter((slug) => slug !== table.owner);
  const form = renderActForm({
    action: `${path}/transfer`,
    token,
    fields: [
      renderEffect(table),
      renderNewOwner(table, fields.get("app") ?? ""),
      renderTypedName(table.name, "hand it over"),
    ],
    button: "Hand it over",
    cancel: path,
  });
  return answerConsolePage({
    me,
    entry: "Tables",
    title: `Hand over ${table.name}`,
    crumbs: [
      { name: "Tables", path: TABLES },
      { name: table.name, path },
    ],
    body:
      others.length === 0
        ? renderEmpty(
            "No other app uses this table. The one that is to own it declares the table and pushes first.",
            renderLink("Back to the table", path),
          )
        : [faults.length > 0 && renderFault("It was not handed over.", faults), form],
    status: faults.length > 0 ? 422 : 200,
  });
}

function renderEffect({ name, owner }: ShownTable): Part {
  return html`<p><a href="${toAppPath(owner)}">${owner}</a> owns <b>${name}</b>: what it pushes defines the table. From then on the new owner's pushes do; rows stay where they are, and every app sees its own as before.</p>`;
}

/** Only an app that uses the table can own it: a choice of those, or its name where they are many. */
function renderNewOwner({ owner, uses, users }: ShownTable, typed: string): Part {
  if (users.count > MOST_CHOICES)
    return renderTextField({
      name: "app",
      label: "The new owner",
      hint: "An app that uses the table",
      value: typed,
      maxLength: 40,
      isRequired: true,
    });
  const choices = uses.flatMap(({ apps }) => apps.map((slug) => ({ value: slug, label: slug })));
  return renderSelect({
    name: "app",
    label: "The new owner, which uses the table",
    choices: choices
      .filter(({ value }) => value !== owner)
      .sort((a, b) => (a.value < b.value ? -1 : 1)),
    value: typed,
  });
}

const MOST_CHOICES = 100;
