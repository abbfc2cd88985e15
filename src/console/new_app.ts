/** Creating an app: its slug, and where its pages live. @module */
import { createAppByConsole, listConsoleApps } from "../accounts/mod.ts";
import { answerSeeOther } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderActForm, renderFault, renderTextField } from "./parts.ts";
import { APPS, NEW_APP, toAppPath } from "./paths.ts";
import { readLines, toMessages } from "./read.ts";
import { renderTargetFields } from "./settings.ts";

type Typed = { slug: string; origins: string; redirects: string };

export async function answerNewApp(visit: Visit): Promise<Response> {
  return await answerForm(visit, { slug: "", origins: "", redirects: "" }, []);
}

export async function answerNewAppForm(visit: Visit): Promise<Response> {
  const { deps, cookies, fields } = visit;
  const typed = {
    slug: (fields.get("slug") ?? "").trim(),
    origins: fields.get("origins") ?? "",
    redirects: fields.get("redirects") ?? "",
  };
  try {
    await createAppByConsole(deps, cookies, {
      slug: typed.slug,
      origins: readLines(typed.origins),
      redirects: readLines(typed.redirects),
      cookieDomain: deps.identity.cookieDomain,
    });
    return answerSeeOther(toAppPath(typed.slug));
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, typed, toMessages(error));
  }
}

async function answerForm(
  { deps, cookies, token }: Visit,
  { slug, ...targets }: Typed,
  faults: readonly string[],
): Promise<Response> {
  const { me } = await listConsoleApps(deps, cookies, { search: "", after: "", most: 0 });
  const form = renderActForm({
    action: NEW_APP,
    token,
    fields: [
      renderTextField({
        name: "slug",
        label: "Name",
        hint: "2 to 40 of a-z, 0-9 and -, beginning with a letter. Addresses and commands use it.",
        value: slug,
        maxLength: 40,
        isRequired: true,
        isFirst: true,
      }),
      renderTargetFields(targets, deps.identity.cookieDomain),
    ],
    button: "Create the app",
    cancel: APPS,
  });
  return answerConsolePage({
    me,
    entry: "Apps",
    title: "New app",
    crumbs: [{ name: "Apps", path: APPS }],
    body: [faults.length > 0 && renderFault("No app was created.", faults), form],
    status: faults.length > 0 ? 422 : 200,
  });
}
