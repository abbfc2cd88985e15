/** @jsxImportSource #html @jsxRuntime automatic */
/** Overview of an app: its addresses, contents and numbers. @module */

import type { Html, Part } from "../../pages/mod.ts";
import type { AppView } from "../../records/console/mod.ts";
import { renderAxis } from "../activity/axis.tsx";
import { readApp, respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { readSpan, renderSpans, renderStats } from "../numbers.tsx";
import { renderFacts, renderText, renderTime } from "../parts.tsx";
import {
  renderDone,
  toAppPath,
  toAppTablesPath,
  toKeysPath,
  toPushesPath,
  toRowsPath,
} from "../paths.ts";
import { isLive, renderNoKey } from "./keys.tsx";

/** More tables are on their own tab. */
const MAX_TABLES = 12;

export async function handleOverview(visit: Visit): Promise<Response> {
  const span = readSpan(visit.context.query);
  const { me, slug, app, keys, axis } = await readApp(visit, span);
  const now = visit.deps.now();
  const isDisabled = app.disabledAt !== null;
  const active = keys.filter(isLive).length;
  return respondWithAppPage({
    visit,
    me,
    isDisabled,
    tab: "Overview",
    body: [
      renderDone(visit),
      isDisabled && (
        <p class="notice notice-warn">
          This app is disabled. Its keys do not work and people cannot open it.
        </p>
      ),
      keys.length === 0 && renderNoKey(slug),
      renderAbout(app, { activeKeys: active, now }),
      // An app without a key has had no request.
      axis !== null &&
        keys.length > 0 && [
          renderSpans(span, toAppPath(slug)),
          renderStats(axis, { span, slug, now }),
          renderAxis({ axis, span, slug, now }),
        ],
    ],
  });
}

function renderAbout(app: AppView, { activeKeys, now }: { activeKeys: number; now: number }): Html {
  const path = toAppPath(app.slug);
  const pushed =
    app.pushedAt === null ? (
      <span class="quiet">none yet</span>
    ) : (
      <a href={toPushesPath(app.slug)}>{renderTime(app.pushedAt, now)}</a>
    );
  return (
    <section class="sheet" aria-label="About this app">
      {renderFacts("facts", [
        ["Address", renderOrigins(app)],
        ["Tables", renderTables(app)],
        ["Keys", <a href={toKeysPath(app.slug)}>{activeKeys} active</a>],
        ["People", <a href={`${path}/people`}>{app.people} with a role</a>],
        ["Last push", pushed],
        ["Created", renderTime(app.createdAt, now)],
      ])}
    </section>
  );
}

/** Links that open in a new tab. */
function renderOrigins({ origins, slug }: AppView): Part {
  if (origins.length === 0)
    return (
      <>
        <span class="quiet">none yet</span>{" "}
        <a href={`${toAppPath(slug)}/settings`}>Add an origin</a>
      </>
    );
  return (
    <ul class="inline">
      {origins.map((origin) => (
        <li>
          <a href={origin} target="_blank" rel="noopener noreferrer">
            {renderText(new URL(origin).host)} <span aria-hidden="true">↗</span>
            <span class="visually-hidden">, opens in a new tab</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function renderTables({ tables, slug }: AppView): Part {
  if (tables.length === 0) return <span class="quiet">none yet</span>;
  const more = tables.length - MAX_TABLES;
  return (
    <ul class="inline">
      {tables.slice(0, MAX_TABLES).map((table) => (
        <li>
          <a href={toRowsPath(slug, table)}>{table}</a>
        </li>
      ))}
      {more > 0 && (
        <li>
          <a href={toAppTablesPath(slug)}>{more} more</a>
        </li>
      )}
    </ul>
  );
}
