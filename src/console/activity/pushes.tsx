/** @jsxImportSource #html @jsxRuntime automatic */
/** An app's pushes, newest first, with running builds; one push with its changes and statements. @module */

import { readParameters } from "../../http/mod.ts";
import { type Html, type Part, renderCopyable, renderCopyButton } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import {
  type ConsolePush,
  type PushView,
  pushList,
  readConsole,
} from "../../records/console/mod.ts";
import { respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { toPushNumber } from "../form_page.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { makeCsv, readListed, renderListLinks, renderListTable, toPage } from "../list.tsx";
import {
  renderEmpty,
  renderFacts,
  renderLink,
  renderPill,
  renderPushHint,
  renderText,
  renderTime,
} from "../parts.tsx";
import { APPS, toAppPath, toPushesPath, toPushPath } from "../paths.ts";
import { renderBuilds } from "../tables/table_parts.tsx";
import { compareDefinitions, type Line, type TableChange } from "./definition_changes.ts";

export async function handlePushes(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const text = new Map(readParameters(context.query)).get("before") ?? "";
  const after = /^\d{1,9}$/.test(text) ? text : "";
  const { me, app, pushes, builds } = await readListed(visit, pushList, { after });
  const { page, last } = toPage(pushes);
  const path = toPushesPath(slug);
  return respondWithAppPage({
    visit,
    me,
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
            renderListLinks({ path, next: last && { before: String(last.seq) }, name: "Older" }),
          ],
  });
}

export const pushesCsv = makeCsv(pushList);

function renderList(slug: string, pushes: readonly ConsolePush[], now: number): Html {
  return renderListTable(pushList, pushes, {
    label: "Pushes",
    now,
    cells: {
      seq: ({ seq }) => (
        <a class="row-name" href={toPushPath(slug, seq)}>
          {toPushNumber(seq)}
        </a>
      ),
      head: renderSteps,
      key: renderPusher,
      checksum: ({ checksum }) => (
        <code class="quiet" title={checksum}>
          {checksum.replace(/^sha256:/, "").slice(0, 12)}
        </code>
      ),
    },
  });
}

/** The key that pushed, by its name if it has one. */
function renderPusher({ key }: Pick<ConsolePush, "key">): Html {
  if (key === null) return <span class="quiet">an operator</span>;
  return key.name === "" ? <code>{key.keyId}</code> : renderText(key.name);
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
  return (
    <span class="steps-done">
      {steps.slice(0, MAX_STEPS).map((step) => (
        <span>{renderText(step)}</span>
      ))}
      {more > 0 && <span class="quiet">and {more} more</span>}
    </span>
  );
}

function unknownPush(): Problem {
  return new Problem("not_found", { message: "The app has no push with this number" });
}

export async function handlePush({ deps, context }: Visit): Promise<Response> {
  const { app: slug = "", seq: text = "" } = context.params;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw unknownPush();
  const values = { app_slug: slug, wanted: Number(text) };
  const { me, push, builds } = await readConsole(deps, "show_push", values);
  if (push === null) throw unknownPush();
  return respondWithConsolePage({
    me,
    title: `${toPushNumber(push.seq)} ${push.name.replaceAll("_", " ")}`,
    crumbs: [
      { name: "Apps", path: APPS },
      { name: slug, path: toAppPath(slug) },
      { name: "Pushes", path: toPushesPath(slug) },
    ],
    actions: renderOthers(slug, push),
    body: [
      renderSummary(push, deps.now()),
      renderBuilds(builds, deps.now(), toPushPath(slug, push.seq)),
      <h2>Changes</h2>,
      renderChanges(push),
      <h2>Statements</h2>,
      renderSql(push.sql),
    ],
  });
}

function renderOthers(slug: string, { seq, isLast }: PushView): Part {
  return [
    seq > 1 && renderLink("Older", toPushPath(slug, seq - 1)),
    !isLast && renderLink("Newer", toPushPath(slug, seq + 1)),
  ];
}

function renderSummary({ checksum, appliedAt, key }: PushView, now: number): Html {
  const keyId = key !== null && key.name !== "" && [" ", <code class="quiet">{key.keyId}</code>];
  return renderFacts("figures", [
    ["Applied", renderTime(appliedAt, now)],
    ["By", [renderPusher({ key }), keyId]],
    [
      "Checksum",
      [<code id="checksum">{checksum}</code>, " ", renderCopyButton("checksum", "the checksum")],
    ],
  ]);
}

const MARKS = { same: " ", added: "+", removed: "−", changed: "~" } as const;
const LABELS = { added: "new", removed: "no longer declared", changed: "changed" } as const;
/** Max tables of one push on the page. The list of statements below is complete. */
const MAX_TABLES = 50;

function renderChanges(push: PushView): Part {
  const changes = compareDefinitions(push);
  if (changes.length === 0) return <p class="quiet">The declared tables did not change.</p>;
  return [
    changes.slice(0, MAX_TABLES).map(renderTableChange),
    changes.length > MAX_TABLES && (
      <p class="quiet">and {changes.length - MAX_TABLES} more tables</p>
    ),
  ];
}

/** The changed lines, and the whole table if it has unchanged lines. */
function renderTableChange({ table, change, lines }: TableChange): Html {
  const different = lines.filter((line) => line.change !== "same");
  const tone = change === "added" ? "good" : change === "removed" ? "warn" : "plain";
  return (
    <section class="sheet change">
      <h3>
        <code>{table}</code> {renderPill(LABELS[change], tone)}
      </h3>
      <ul class="changes">
        {different.map((line) => (
          <li class={`change-${line.change}`}>{renderLine(line)}</li>
        ))}
      </ul>
      {different.length < lines.length && (
        <details>
          <summary>The whole table</summary>
          <pre tabindex="0">
            <code>{lines.map(renderDiffLine)}</code>
          </pre>
        </details>
      )}
    </section>
  );
}

function renderLine(line: Line): Part {
  const mark = (
    <>
      <span aria-hidden="true">{MARKS[line.change]}</span>
      <span class="visually-hidden">{line.change}: </span>
    </>
  );
  if (line.change !== "changed")
    return (
      <>
        {mark} <code>{renderText(line.text)}</code>
      </>
    );
  return (
    <>
      {mark}{" "}
      <code>
        <del>{renderText(line.was)}</del> <ins>{renderText(line.text)}</ins>
      </code>
    </>
  );
}

function renderDiffLine(line: Line): Part {
  if (line.change === "same") return `  ${line.text}\n`;
  const text = line.change === "changed" ? line.was : line.text;
  return [
    line.change !== "added" && [<del>− {text}</del>, "\n"],
    line.change !== "removed" && [<ins>+ {line.text}</ins>, "\n"],
  ];
}

/** Max characters of SQL on the page. */
const MAX_CHARS = 100_000;

function renderSql(sql: string): Part {
  if (sql === "")
    return <p class="quiet">None. Only the recorded definition of the app changed.</p>;
  const rest = sql.length - MAX_CHARS;
  return [
    renderCopyable("sql", sql.slice(0, MAX_CHARS), {
      ...{ kind: "sql", label: "SQL", what: "the statements" },
    }),
    rest > 0 && (
      <p class="quiet">
        and {rest} more characters. The migration file in the project has all of them.
      </p>
    ),
    <p class="quiet">
      Functions that serve the tables are generated from the definition and are not listed.
    </p>,
  ];
}
