/** @jsxImportSource #html @jsxRuntime automatic */
/** Parts of pages about tables: sizes, builds, apps, differences from the recorded schema. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { toSentence } from "../../problem.ts";
import {
  type ConsoleBuild,
  type ConsoleTable,
  type ConsoleVisitor,
  readConsole,
} from "../../records/console/mod.ts";
import { showCount } from "../../std/count.ts";
import { findTableDifferences } from "../../tables/mod.ts";
import type { Visit } from "../enter.tsx";
import type { Crumbs } from "../frame.tsx";
import { joinParts, renderPill, renderTabs, renderTime } from "../parts.tsx";
import { TABLES, toAppPath, toTablePath, toTableRulesPath } from "../paths.ts";

/** The estimated number of rows. */
export function renderRowCount(rows: number | null): Part {
  return rows === null ? renderUnmeasured() : `≈ ${shorten(rows)}`;
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** The estimated size with indexes. */
export function renderBytes(bytes: number | null): Part {
  if (bytes === null) return renderUnmeasured();
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), BYTE_UNITS.length - 1);
  return `${Math.round(bytes / 1000 ** power)} ${BYTE_UNITS[power]}`;
}

function renderUnmeasured(): Html {
  return (
    <span class="quiet" title="Not measured yet">
      –
    </span>
  );
}

/** Three significant digits, because estimates are not exact. */
function shorten(count: number): string {
  const parts = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return parts.format(count);
}

export const ESTIMATES = (
  <p class="quiet">
    Row counts include all apps. Rows and sizes are estimates from PostgreSQL statistics; – means
    not measured yet.
  </p>
);

/** Up to three apps by name, and the number of others. */
export function renderUsers({ apps, firstApps }: ConsoleTable): Part {
  if (apps === 0) return <span class="quiet">no app</span>;
  const more = apps - firstApps.length;
  return (
    <span>
      {renderAppLinks(firstApps)}
      {more > 0 && [" ", <span class="quiet">and {more} more</span>]}
    </span>
  );
}

export function renderAppLinks(slugs: readonly string[]): Part {
  return joinParts(slugs.map((slug) => <a href={toAppPath(slug)}>{slug}</a>));
}

/** Short labels of issues. */
export function renderState(table: ConsoleTable): Part {
  const { apps, builds } = table;
  const differences = findTableDifferences(table).length;
  const failed = builds.filter(({ state }) => state === "failed").length;
  const open = builds.filter(({ state }) => state === "waiting" || state === "running").length;
  const pills = [
    differences > 0 && renderPill(showCount(differences, "difference"), "warn"),
    failed > 0 && renderPill(`${showCount(failed, "build")} failed`, "warn"),
    open > 0 && renderPill(`${showCount(open, "build")} running`),
    apps === 0 && renderPill("unused"),
  ].filter((pill) => pill !== false);
  return pills.length > 0 && <span class="pills">{pills}</span>;
}

/** What a sentence says about a build. */
export const BUILD_STATES: Readonly<Record<ConsoleBuild["state"], string>> = {
  waiting: "is waiting to be built",
  running: "is being built",
  failed: "could not be built",
  done: "is built",
};

function toStateLabel(state: ConsoleBuild["state"]): string {
  return toSentence(BUILD_STATES[state].replace(/^is /, ""));
}

/** Builds that pushes deferred, each with its progress. The page does not refresh automatically. */
export function renderBuilds(builds: readonly ConsoleBuild[], now: number, here: string): Part {
  if (builds.length === 0) return undefined;
  const isOpen = builds.some(({ state }) => state !== "done" && state !== "failed");
  return (
    <section class="sheet" aria-labelledby="builds">
      <h2 id="builds">Deferred builds</h2>
      <ul class="builds">{builds.map((build) => renderBuild(build, now))}</ul>
      {isOpen && (
        <p class="quiet">
          This page does not update automatically. <a href={here}>Reload</a>
        </p>
      )}
    </section>
  );
}

function renderBuild(build: ConsoleBuild, now: number): Html {
  const { kind, columns, table, state, issue, attempts, finishedAt, createdAt } = build;
  const what = (
    <>
      {kind === "index" ? "Index on" : "Reference from"} <code>{table}</code> (
      <code>{columns.join(", ")}</code>)
    </>
  );
  const text = [
    toStateLabel(state),
    issue !== null && `: ${issue}`,
    state === "done" ? (
      <> {renderTime(finishedAt, now)}</>
    ) : (
      <> · pushed {renderTime(createdAt, now)}</>
    ),
    attempts > 1 && ` · attempt ${attempts}`,
  ];
  const tone = state === "failed" ? "error-text" : "quiet";
  return (
    <li>
      <span>{what}</span> <span class={tone}>{text}</span>
      {renderProgress(build)}
    </li>
  );
}

function renderProgress({ progress, name }: ConsoleBuild): Part {
  if (progress === null) return undefined;
  const { phase, done, total, unit } = progress;
  const share = total > 0 ? `, ${shorten(done)} of ${shorten(total)} ${unit}` : "";
  return (
    <>
      <span class="quiet">
        {phase}
        {share}
      </span>
      {total > 0 && <progress max={total} value={done} aria-label={name} />}
    </>
  );
}

/** The table in the address. @throws {Problem} unknown_table */
export async function readTable({ deps, context }: Visit) {
  return await readConsole(deps, "show_table", { wanted: context.params["table"] ?? "" });
}

/** The parent pages of a page about a table. */
export function toTableCrumbs({
  table: { name },
}: {
  me: ConsoleVisitor;
  table: { name: string };
}): Crumbs {
  return [
    { name: "Tables", path: TABLES },
    { name, path: toTablePath(name) },
  ];
}

/** Tabs of a table, if apps can have rules. */
export function renderTableTabs({ deps }: Visit, table: string, tab: "Definition" | "Rules"): Part {
  if (!deps.previews.includes("browser")) return undefined;
  const tabs = [
    { name: "Definition", path: toTablePath(table) },
    { name: "Rules", path: toTableRulesPath(table) },
  ];
  return renderTabs("Table", tabs, tab);
}
