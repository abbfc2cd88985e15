/** @jsxImportSource #html @jsxRuntime automatic */
/** A table: its columns, constraints and indexes, the apps that use them, and differences from the recorded schema. @module */

import { readParameters } from "../../http/mod.ts";
import { VALUES } from "../../kinds/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import type { TableView } from "../../records/console/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import {
  type Constraint,
  indexesOf,
  keysOf,
  nameOf,
  referencesOf,
} from "../../tables/catalog/mod.ts";
import { type Difference, findTableDifferences } from "../../tables/mod.ts";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  joinParts,
  numeric,
  renderAttention,
  renderFacts,
  renderLink,
  renderPill,
  renderTable,
  renderText,
} from "../parts.tsx";
import {
  renderDone,
  TABLES,
  toAppPath,
  toNewColumnPath,
  toRowsPath,
  toTablePath,
} from "../paths.ts";
import {
  ESTIMATES,
  readTable,
  renderAppLinks,
  renderBuilds,
  renderBytes,
  renderRowCount,
  renderTableTabs,
} from "./table_parts.tsx";

export async function handleTable(visit: Visit): Promise<Response> {
  const { me, table } = await readTable(visit);
  const path = toTablePath(table.name);
  const open = table.builds.filter(({ state }) => state !== "done");
  const asked = new Map(readParameters(visit.context.query)).get("app");
  const users = table.uses.flatMap(({ apps }) => apps);
  const app = users.find((slug) => slug === asked) ?? users[0];
  return respondWithConsolePage({
    me,
    title: table.name,
    crumbs: [{ name: "Tables", path: TABLES }],
    actions: [
      app !== undefined && renderLink("Rows", toRowsPath(app, table.name)),
      app !== undefined && renderLink("New column", toNewColumnPath(app, table.name)),
      table.apps > 0 && renderLink("Transfer ownership", `${path}/transfer`),
      table.apps === 0 && renderLink("Drop", `${path}/drop`, "danger"),
    ],
    tabs: renderTableTabs(visit, table.name, "Definition"),
    body: [
      renderDone(visit),
      renderDifferences(findTableDifferences(table)),
      renderSummary(table),
      renderBuilds(open, visit.deps.now(), path),
      <h2>Columns</h2>,
      renderColumns(table),
      <h2>Keys, indexes and references</h2>,
      renderConstraints(table),
      <h2>Apps that use it</h2>,
      renderUses(table),
      ESTIMATES,
    ],
  });
}

function renderSummary({ owner, apps, rows, bytes, definition, referredToBy }: TableView): Html {
  return renderFacts("figures", [
    ["Owner", <a href={toAppPath(owner)}>{owner}</a>],
    ["Used by", apps === 0 ? "no app" : showCount(apps, "app")],
    ["Columns", definition.columns.length],
    ["Rows", renderRowCount(rows)],
    ["Size", renderBytes(bytes)],
    [
      "Referenced by",
      referredToBy.length > 0 &&
        joinParts(referredToBy.map((name) => <a href={toTablePath(name)}>{name}</a>)),
    ],
  ]);
}

const MAX_DIFFERENCES = 50;

/** Lists the differences. Repairs nothing. */
function renderDifferences(differences: readonly Difference[]): Part {
  const more = differences.length - MAX_DIFFERENCES;
  const why = (
    <span>
      <b>The database differs from the pushed schema.</b> The table was changed by other means. Undo
      the change. <code>rowhouse db status</code> shows all differences.
    </span>
  );
  return renderAttention("Differences", [
    ...(differences.length > 0 ? [why] : []),
    ...differences.slice(0, MAX_DIFFERENCES).map(renderDifference),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]);
}

function renderDifference({ thing, wanted, found }: Difference): Html {
  return (
    <>
      <span>{renderText(thing.replace(/^table \S+ \/ /, ""))}</span>
      <span>
        pushed: <b>{renderText(wanted)}</b>, found: <b>{renderText(found)}</b>
      </span>
    </>
  );
}

function renderColumns({ definition, uses, apps: users }: TableView): Html {
  const isShared = users > 1;
  return renderTable(
    "Columns",
    ["Column", "Kind", "Null", "Default", "Rules", ...(isShared ? [numeric("Used by")] : [])],
    definition.columns.map((column): Part[] => {
      const apps = uses
        .filter(({ columns }) => columns.includes(column.name))
        .reduce((sum, { count }) => sum + count, 0);
      return [
        <code class="row-code">{column.name}</code>,
        renderKind(column),
        column.required ? <span class="quiet">no</span> : "yes",
        renderDefault(column),
        renderRules(column),
        ...(isShared ? [`${apps} of ${users}`] : []),
      ];
    }),
  );
}

function renderKind({ kind, table, values }: NamedColumn): Part {
  if (table !== undefined)
    return (
      <span>
        → <a href={toTablePath(table)}>{table}</a>
      </span>
    );
  if (values === undefined) return kind;
  const visible = values.slice(0, MAX_VALUES);
  const more = values.length - visible.length;
  return (
    <span>
      {kind}{" "}
      <span class="quiet">
        {joinParts(visible.map(renderText))}
        {more > 0 && ` and ${more} more`}
      </span>
    </span>
  );
}

const MAX_VALUES = 12;

/** As JSON, cut. Computed defaults have names, such as "now". */
function renderDefault({ kind, default: value }: NamedColumn): Part {
  if (value === undefined) return undefined;
  if (VALUES[kind].default.computed?.[String(value)] !== undefined) return String(value);
  return <code>{renderText(JSON.stringify(value))}</code>;
}

function renderRules({ unique, index, onDelete, onUpdate }: NamedColumn): Part {
  const rules = [
    unique && "unique",
    index && "indexed",
    onDelete !== undefined && `on delete ${onDelete}`,
    onUpdate !== undefined && `on update ${onUpdate}`,
  ].filter((rule) => rule !== false);
  return rules.join(", ");
}

function renderConstraints({ name, definition, builds, found }: TableView): Html {
  const stateOf = (part: string) => {
    const build = builds.find((each) => each.name === part && each.state !== "done");
    if (build !== undefined) return renderPill(BUILD_LABELS[build.state] ?? "to be built", "warn");
    const state = findState(found?.parts ?? {}, part);
    return found !== null && state === undefined ? (
      renderPill("missing", "warn")
    ) : (
      <span class="quiet">{state === "there" ? "valid" : "not valid"}</span>
    );
  };
  const targets = new Map(definition.columns.map((column) => [column.name, column.table]));
  const rows = [
    { kind: "primary key", name: `${name}__pkey`, columns: ["id"] },
    ...keysOf(definition).map((constraint) => ({
      ...constraint,
      ...{ name: findName(constraint, found), kind: "unique" },
    })),
    ...referencesOf(definition).map((reference) => ({
      ...reference,
      kind: `→ ${targets.get(reference.columns[0] ?? "")}`,
    })),
    ...indexesOf(definition).map((constraint) => ({
      ...constraint,
      ...{ name: findName(constraint, found), kind: "index" },
    })),
  ];
  return renderTable(
    "Keys, indexes and references",
    ["Kind", "Columns", "Name", "State"],
    rows.map((row): Part[] => [
      row.kind,
      <code>{row.columns.join(", ")}</code>,
      <code class="quiet">{row.name}</code>,
      stateOf(row.name),
    ]),
  );
}

/** The name of the index; until it is built, that of the one before. */
function findName(constraint: Constraint, found: TableView["found"]): string {
  const name = nameOf(constraint);
  return findState(found?.parts ?? {}, name) === undefined ? constraint.name : name;
}

const BUILD_LABELS: Readonly<Record<string, string>> = {
  waiting: "waiting to be built",
  running: "being built",
  failed: "could not be built",
};

function findState(parts: Readonly<Record<string, string>>, name: string): string | undefined {
  return parts[`constraint ${name}`] ?? parts[`index ${name}`];
}

const MAX_APPS = 30;

function renderUses({ uses, definition }: TableView): Part {
  if (uses.length === 0)
    return <p class="quiet">No app uses this table. Its rows remain until it is dropped.</p>;
  return renderTable(
    "Apps that use it",
    ["Apps", "Declared columns"],
    uses.map(({ columns, count, apps }): Part[] => [
      <span>
        {renderAppLinks(apps.slice(0, MAX_APPS))}
        {count > MAX_APPS && [" ", <span class="quiet">and {count - MAX_APPS} more</span>]}
      </span>,
      columns.length === definition.columns.length ? (
        <span class="quiet">all</span>
      ) : (
        <code>{columns.join(", ")}</code>
      ),
    ]),
  );
}
