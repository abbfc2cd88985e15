/** @jsxImportSource #html @jsxRuntime automatic */
/** The rules for people: of an app by role, and of a table by app. Shows what pushes declared, and changes nothing. @module */
import type { Html, Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { readConsole } from "../../records/console/mod.ts";
import { listRights, listRoles, listRuleNotices, type TableDefinition } from "../../schema/mod.ts";
import { respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { renderEmpty, renderPushHint, renderTable } from "../parts.tsx";
import { TABLES, toAppPath, toAppRulesPath, toSwitchPath, toTableRulesPath } from "../paths.ts";
import { renderTableTabs } from "./table_parts.tsx";

type Tables = readonly TableDefinition[];

export async function handleAppRules(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  rejectUnlessOn(visit);
  const slug = context.params["app"] ?? "";
  const { me, app, isOn, tables } = await readConsole(deps, "show_rules", { app_slug: slug });
  const roles = listRoles(tables);
  return respondWithAppPage({
    visit,
    me,
    isDisabled: app.disabledAt !== null,
    tab: "Rules",
    body:
      roles.length === 0
        ? renderEmpty(
            "The app's schema has no rules: people cannot read or write its rows.",
            renderPushHint(visit),
          )
        : [
            !isOn && renderOff(slug),
            <p class="quiet">
              What people may do in a browser, by their role. A push changes it. API keys have all
              rights.
            </p>,
            roles.map((role) => renderRole(role, tables)),
            renderNotices(tables),
          ],
  });
}

/** @throws {Problem} unknown_route — the preview is off */
function rejectUnlessOn({ deps }: Visit): void {
  if (!deps.previews.includes("browser")) throw new Problem("unknown_route");
}

function renderOff(slug: string): Html {
  return (
    <p class="notice notice-warn">
      Browser access is off for this app, so people have none of these rights.{" "}
      <a href={toSwitchPath(slug, "browser")}>Turn on</a>
    </p>
  );
}

function renderRole(role: string, tables: Tables): Part {
  return [
    <h2>
      <code>{role}</code>
    </h2>,
    renderTable(
      `Rights of ${role}`,
      ["Table", "Rights"],
      tables.map((table): Part[] => [
        <a href={toTableRulesPath(table.name)}>{table.name}</a>,
        renderRights(table, role),
      ]),
    ),
  ];
}

function renderRights(table: TableDefinition, role: string): Part {
  const rights = listRights(table, role);
  if (rights.length === 1) return <bdi class="quiet">{rights[0]}</bdi>;
  return (
    <ul class="lines">
      {rights.map((right) => (
        <li>
          <bdi>{right}</bdi>
        </li>
      ))}
    </ul>
  );
}

function renderNotices(tables: Tables): Part {
  const notices = listRuleNotices({ tables });
  if (notices.length === 0) return undefined;
  return (
    <section class="sheet" aria-labelledby="notices">
      <h2 id="notices">Notices</h2>
      <ul class="lines">
        {notices.map(({ message }) => (
          <li>
            <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The rules of each app that uses the table. */
export async function handleTableRules(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  rejectUnlessOn(visit);
  const name = context.params["table"] ?? "";
  const { me, uses } = await readConsole(deps, "show_table_rules", { wanted: name });
  return respondWithConsolePage({
    me,
    title: name,
    part: "Rules",
    crumbs: [{ name: "Tables", path: TABLES }],
    tabs: renderTableTabs(visit, name, "Rules"),
    body:
      uses.length === 0
        ? renderEmpty("No app has rules on this table: people cannot read or write its rows.")
        : uses.map(({ app, definition }) => [
            <h2>
              <a href={toAppPath(app)}>{app}</a>
            </h2>,
            renderTable(
              `Rights in ${app}`,
              ["Role", "Rights"],
              listRoles([definition]).map((role): Part[] => [
                <a href={toAppRulesPath(app)}>
                  <code>{role}</code>
                </a>,
                renderRights(definition, role),
              ]),
            ),
          ]),
  });
}
