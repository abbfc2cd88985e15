/** @jsxImportSource #html @jsxRuntime automatic */
/** Actions on a table that require its typed name: transfer its ownership, end an app's use of it, drop it if unused. @module */

import type { Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import {
  beginEndRegistration,
  type DroppedTable,
  dropTable,
  TABLE_ACTIONS,
  type TableSubject,
} from "../../records/apps/mod.ts";
import { endRegistrationByConsole, readConsole } from "../../records/console/mod.ts";
import { makeActionPages } from "../action_page.tsx";
import { toAppCrumbs } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { makeFormPage, toVisibleMessages, typedName } from "../form_page.tsx";
import { renderError, renderLink } from "../parts.tsx";
import { redirectWithNotice, TABLES, toAppTablesPath, toTablePath } from "../paths.ts";
import { readTable, renderRowCount, toTableCrumbs } from "./table_parts.tsx";

/** Max wait per request; the data service continues after it. */
const WAIT_MS = 10_000;

export const endUsePage = makeFormPage({
  action: "begin_end_registration",
  read: async ({ deps, context }) => {
    const { app: slug = "", table = "" } = context.params;
    const removal = await readRemoval(beginEndRegistration(deps, { slug, table }));
    const values = { app_slug: slug, search: "", after_name: "", max_rows: 0 };
    const { me } = await readConsole(deps, "list_tables", values);
    return { me, slug, table, removal };
  },
  title: ({ slug, table }) => `Stop using ${table} in ${slug}`,
  fields: ({ table }) => ({ typed_name: typedName(table, "stop using it") }),
  form: ({ slug, removal }) => {
    if ("reasons" in removal)
      return {
        instead: [
          renderError("The app cannot stop using this table.", removal.reasons),
          renderLink("Back", toAppTablesPath(slug)),
        ],
        status: 422,
      };
    return {
      intro: renderEndOfUse(slug, removal.found.tables),
      button: "Stop using and delete rows",
      tone: "danger",
    };
  },
  run: async (visit, { slug, table }) => {
    const end = performance.now() + WAIT_MS;
    const isOverdue = () => performance.now() > end;
    const state = await endRegistrationByConsole(
      { ...visit.deps, isOverdue },
      { slug, table, expected: readExpected(visit) },
    );
    const message = "Rows of another table reference these rows: stop using that table first";
    if (state === "rejected") throw new Problem("invalid_request", { message });
  },
  done: { "use-ended": "The app no longer uses the table." },
  back: ({ slug }) => toAppTablesPath(slug),
  crumbs: toAppCrumbs,
  failed: "The app still uses the table.",
});

function renderEndOfUse(slug: string, names: readonly string[]): Part {
  const isOnly = names.length === 1;
  return (
    <>
      {renderExpected(names)}
      <p>This cannot be undone. Deleted:</p>
      <ul class="plain">
        {names.map((name) => (
          <li>
            all rows of {slug} in <b>{name}</b>
          </li>
        ))}
      </ul>
      {!isOnly && REMOVED_TOGETHER}
      <p>
        {slug} then gets 404 responses for {isOnly ? "it" : "them"}. The{" "}
        {isOnly ? "table" : "tables"} and other apps' rows are not deleted. A push of {slug}{" "}
        registers {isOnly ? "it" : "them"} again.
      </p>
    </>
  );
}

const dropTablePage = makeFormPage({
  action: "drop_table",
  read: async (visit) => {
    const { table = "" } = visit.context.params;
    const removal = await readRemoval(dropTable(visit.deps, { table }));
    return { ...(await readTable(visit)), removal };
  },
  title: ({ table }) => `Drop ${table.name}`,
  fields: ({ table }) => ({ typed_name: typedName(table.name, "drop it") }),
  form: ({ table: { name, rows }, removal }) => {
    if ("reasons" in removal)
      return {
        instead: [
          renderError("The table cannot be dropped.", removal.reasons),
          renderLink("Back to the table", toTablePath(name)),
        ],
        status: 422,
      };
    return {
      intro: renderDrop(removal.found, rows === null ? undefined : renderRowCount(rows)),
      button: "Drop permanently",
      tone: "danger",
    };
  },
  run: async (visit, { table: { name: table } }) => {
    await dropTable(visit.deps, { table, expected: readExpected(visit) });
    return redirectWithNotice(TABLES, "dropped");
  },
  done: { dropped: "Table dropped." },
  back: ({ table }) => toTablePath(table.name),
  crumbs: toTableCrumbs,
  failed: "The table was not dropped.",
});

/** The pages below a table that apps share. */
export const TABLE_PAGES = {
  ...makeActionPages<TableSubject, typeof TABLE_ACTIONS>(
    {
      read: readTable,
      toRef: ({ table }) => table.name,
      toPath: ({ table }) => toTablePath(table.name),
      toBack: ({ table }) => toTablePath(table.name),
      crumbs: toTableCrumbs,
    },
    TABLE_ACTIONS,
  ),
  drop: dropTablePage,
};

function renderDrop(found: readonly DroppedTable[], rows: Part): Part {
  const isOnly = found.length === 1;
  return (
    <>
      {renderExpected(found.map(({ name }) => name))}
      <p>This cannot be undone. Removed:</p>
      <ul class="plain">
        {found.map(({ name, owner }) => (
          <li>
            the table <b>{name}</b>, owned by {owner}
          </li>
        ))}
        <li>
          all rows that are left in {isOnly ? "it" : "them"}
          {rows !== undefined && <> ({rows})</>}
        </li>
      </ul>
      {!isOnly && REMOVED_TOGETHER}
      <p>
        No app uses{" "}
        {isOnly ? "it. Any app can then use the name" : "them. Any app can then use the names"}.
      </p>
    </>
  );
}

const REMOVED_TOGETHER = <p>These tables reference each other and are removed together.</p>;

/** The tables that would be removed, or the reasons against it. */
async function readRemoval<Found>(removal: Promise<Found>) {
  return await removal.then(
    (found) => ({ found }),
    (error: unknown) => ({ reasons: toVisibleMessages(error) }),
  );
}

/** The removed tables as shown: the action is rejected if others would be removed by now. */
function renderExpected(names: readonly string[]): Part {
  return <input type="hidden" name="expected" value={names.join(",")} />;
}

function readExpected({ fields }: Visit): string[] {
  return (fields.get("expected") ?? "").split(",");
}
