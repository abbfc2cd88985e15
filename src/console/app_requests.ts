/** An app's requests on one time axis, with what changed. @module */
import { showConsoleAxis } from "../accounts/console/mod.ts";
import { answerAppPage } from "./app_page.ts";
import { renderAxis } from "./axis.ts";
import type { Visit } from "./enter.ts";
import { readSpan, renderSpans, renderStats } from "./numbers.ts";
import { toAppRequestsPath } from "./paths.ts";

export async function answerAppRequests({ deps, cookies, context }: Visit): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const span = readSpan(context.query);
  const { me, app, axis } = await showConsoleAxis(deps, cookies, { slug, span });
  return answerAppPage({
    me,
    slug,
    isDisabled: app.disabledAt !== null,
    tab: "Requests",
    body: [
      renderSpans(span, toAppRequestsPath(slug)),
      renderStats(axis, { span, slug, now: deps.now() }),
      renderAxis({ axis, span, slug, now: deps.now() }),
    ],
  });
}
