/** How many requests an app may send: of all its keys together, and of each of them. @module */
import { DEFAULT_PER_MINUTE, setLimitByConsole, showConsoleApp } from "../accounts/mod.ts";
import { answerSeeOther, type Html, html } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderActForm, renderFault, renderTextField } from "./parts.ts";
import { APPS, toAppPath } from "./paths.ts";
import { toMessages } from "./read.ts";

type Typed = { perMinute: string; perMinuteOfKey: string };
type Outcome = { typed?: Typed; faults?: readonly string[] };

export async function answerLimits(visit: Visit): Promise<Response> {
  return await answerForm(visit, {});
}

export async function answerLimitsForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const slug = context.params["app"] ?? "";
  const read = (name: string) => (fields.get(name) ?? "").trim();
  const typed = { perMinute: read("perMinute"), perMinuteOfKey: read("perMinuteOfKey") };
  const faults = Object.values(typed).flatMap(findFault);
  if (faults.length > 0) return await answerForm(visit, { typed, faults });
  try {
    await setLimitByConsole(deps, cookies, {
      slug,
      perMinute: readNumber(typed.perMinute),
      perMinuteOfKey: readNumber(typed.perMinuteOfKey),
    });
    return answerSeeOther(`${toAppPath(slug)}/settings`);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, { typed, faults: toMessages(error) });
  }
}

function findFault(text: string): string[] {
  if (/^[\d,]*$/.test(text)) return [];
  return [`Cannot read ${quote(text)} as a number of requests: write digits, or nothing`];
}

/** Nothing typed is the default. */
function readNumber(text: string): number | undefined {
  return text === "" ? undefined : Number(text.replaceAll(",", ""));
}

async function answerForm(
  { deps, cookies, context, token }: Visit,
  { typed, faults = [] }: Outcome,
): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const { me, app } = await showConsoleApp(deps, cookies, slug);
  const stored = {
    perMinute: String(app.perMinute ?? ""),
    perMinuteOfKey: String(app.perMinuteOfKey ?? ""),
  };
  return answerConsolePage({
    me,
    entry: "Apps",
    title: "Limits",
    crumbs: [
      { name: "Apps", path: APPS },
      { name: slug, path: toAppPath(slug) },
    ],
    status: faults.length > 0 ? 422 : 200,
    body: [
      faults.length > 0 && renderFault("Nothing was changed.", faults),
      renderActForm({
        action: `${toAppPath(slug)}/limits`,
        token,
        fields: renderFields(typed ?? stored),
        button: "Save",
        cancel: `${toAppPath(slug)}/settings`,
      }),
    ],
  });
}

function renderFields({ perMinute, perMinuteOfKey }: Typed): Html[] {
  return [
    renderTextField({
      name: "perMinute",
      label: "Requests a minute",
      hint: html`Of all its keys together. Empty: ${DEFAULT_PER_MINUTE.toLocaleString("en")}.`,
      value: perMinute,
      maxLength: 20,
      isFirst: true,
    }),
    renderTextField({
      name: "perMinuteOfKey",
      label: "Requests a minute of each key",
      hint: "So that one program leaves room for the others. Empty: as many as the app.",
      value: perMinuteOfKey,
      maxLength: 20,
    }),
  ];
}
