/** An app's pushes, newest first, with their changes and running builds. @module */
import { type ConsolePush, readConsole } from "../accounts/console/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { respondWithAppPage } from "./app_page.ts";
import { toPushNumber } from "./change.ts";
import type { Visit } from "./enter.ts";
import { renderEmpty, renderTable, renderText, renderTime } from "./parts.ts";
import { toPushesPath, toPushPath } from "./paths.ts";
import { ROWS_READ, renderNext, toPage } from "./search.ts";
import { renderPushHint } from "./snippets.ts";
import { renderBuilds } from "./table_parts.ts";

export async function handlePushes(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const text = new Map(readParameters(context.query)).get("before") ?? "";
  const before = /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  const { me, app, pushes, builds } = await readConsole(deps, "list_pushes", {
    app_slug: slug,
    before_seq: before,
    max_rows: ROWS_READ,
  });
  const { page, last } = toPage(pushes);
  const path = toPushesPath(slug);
  return respondWithAppPage({
    me,
    slug,
    isDisabled: app.disabledAt !== null,
    tab: "Pushes",
    body:
      page.length === 0
        ? renderEmpty(
            "No pushes yet. Push the app's schema to create its tables.",
            renderPushHint(visit),
          )
        : [
            renderBuilds(builds, deps.now(), path),
            renderList(slug, page, deps.now()),
            last !== undefined && renderNext(path, { before: String(last.seq) }, "Older"),
          ],
  });
}

function renderList(slug: string, pushes: readonly ConsolePush[], now: number): Html {
  return renderTable(
    "Pushes",
    ["Push", "Changes", { name: "Statements", isNumber: true }, "When", "By", "Checksum"],
    pushes.map((push): Part[] => [
      html`<a class="row-name" href="${toPushPath(slug, push.seq)}">${toPushNumber(push.seq)}</a>`,
      renderSteps(push),
      push.statements,
      renderTime(push.appliedAt, now),
      renderPusher(push),
      html`<code class="quiet" title="${push.checksum}">${push.checksum.replace(/^sha256:/, "").slice(0, 12)}</code>`,
    ]),
  );
}

/** The key that pushed, by its name if it has one. */
export function renderPusher({ key }: Pick<ConsolePush, "key">): Html {
  if (key === null) return html`<span class="quiet">an operator</span>`;
  return key.name === "" ? html`<code>${key.keyId}</code>` : renderText(key.name);
}

const MAX_STEPS = 3;

/** The first steps from the migration file, and the number of other steps. */
function renderSteps({ head, name }: ConsolePush): Part {
  const steps = head
    .split("\n")
    .filter((line) => line.startsWith("--   "))
    .map((line) => line.slice("--   ".length));
  if (steps.length === 0) return name.replaceAll("_", " ");
  const more = steps.length - MAX_STEPS;
  return html`<span class="steps-done">${steps.slice(0, MAX_STEPS).map((step) => html`<span>${renderText(step)}</span>`)}${more > 0 && html`<span class="quiet">and ${more} more</span>`}</span>`;
}
