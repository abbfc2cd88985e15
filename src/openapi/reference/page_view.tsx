/** @jsxImportSource #html @jsxRuntime automatic */
/** A page of the reference: its navigation, the field for a key, and the content. @module */

import type { Html, Page, Part } from "../../pages/mod.ts";
import { type Entry, REFERENCE_PATH, renderFrame, renderMenuGroup } from "../frame.tsx";
import { GUIDES, LLMS_PATH, toGuidePath } from "../guides.tsx";
import type { Endpoint } from "./endpoints.ts";

export const TABLE_PATH = `${REFERENCE_PATH}/tables/:table`;

export function toTablePath(table: string): string {
  return TABLE_PATH.replace(":table", table);
}

/** Groups of endpoints that are the same for every app, by heading. */
export const GROUP_NAMES: Readonly<Record<string, string>> = {
  rows: "Rows",
  schema: "Schema",
  identity: "Identity",
  service: "Service",
};

export type ReferencePage = {
  title: string;
  /** The names of the app's tables; `undefined` without a key. */
  tables: readonly string[] | undefined;
  table?: { name: string; endpoints: readonly Endpoint[] };
  groups: ReadonlyMap<string, readonly Endpoint[]>;
  content: Part;
};

export function toReferencePage(page: ReferencePage): Page {
  return {
    title: page.title,
    width: "own",
    styles: ["reference"],
    scripts: ["reference"],
    body: renderFrame({
      name: "Reference",
      menu: renderMenu(page),
      content: (
        <>
          {renderKeyField()}
          <div id="content" data-title={page.title}>
            {page.content}
          </div>
        </>
      ),
    }),
  };
}

function renderMenu({ tables, table, groups }: ReferencePage): Html {
  const isStart = table === undefined;
  return (
    <>
      {renderMenuGroup("Start", [
        { name: "Introduction", path: `${REFERENCE_PATH}#introduction`, isCurrent: isStart },
        { name: "Errors", path: `${REFERENCE_PATH}#errors` },
      ])}
      {tables !== undefined &&
        tables.length > 0 &&
        renderMenuGroup("Tables", tables.map(toTableEntry(table)))}
      {[...groups].map(([group, endpoints]) =>
        renderMenuGroup(
          GROUP_NAMES[group] ?? group,
          endpoints.map((endpoint) => toEndpointEntry(REFERENCE_PATH, endpoint)),
        ),
      )}
      {renderMenuGroup("Guides", [
        ...GUIDES.map(({ page, title }) => ({ name: title, path: toGuidePath(page) })),
        { name: "llms.txt", path: LLMS_PATH },
      ])}
    </>
  );
}

function toTableEntry(displayed: ReferencePage["table"]): (table: string) => Entry {
  return (name) => {
    const path = toTablePath(name);
    if (name !== displayed?.name) return { name, path };
    const parts = displayed.endpoints.map((endpoint) => toEndpointEntry(path, endpoint));
    return { name, path, isCurrent: true, parts };
  };
}

function toEndpointEntry(page: string, { id, group, method, summary }: Endpoint): Entry {
  const known = group === "rows" ? id.slice(0, id.indexOf("_")) : id;
  return { name: MENU_NAMES[known] ?? summary, path: `${page}#${id}`, method };
}

/** Labels shorter than the summary, for the narrow navigation. */
const MENU_NAMES: Readonly<Record<string, string>> = {
  list: "List rows",
  get: "Get a row",
  create: "Create rows",
  update: "Update a row",
  delete: "Delete a row",
  push_schema: "Push a schema",
  get_schema: "Get the schema",
  get_migration: "Get a migration",
  get_me: "Who is signed in",
  sign_out: "Sign out",
  get_openapi: "Get the description",
  get_live: "Liveness",
  get_ready: "Readiness",
};

/** Without a name, so that no form submits the key. The script holds it in memory, and sends it only to this service. */
function renderKeyField(): Html {
  return (
    <>
      <section class="key" aria-label="Your key" data-key hidden>
        <form method="post" data-key-form>
          <label for="api-key">API key</label>
          <div class="key-row">
            <input
              id="api-key"
              type="password"
              maxlength="200"
              placeholder="rh_…"
              autocomplete="off"
              spellcheck="false"
              autocapitalize="none"
              aria-describedby="api-key-hint"
              required
            />{" "}
            <button class="button button-primary" type="submit">
              Use this key
            </button>
          </div>
          <p class="hint" id="api-key-hint">
            Shows your app's own tables, and lets you try requests. It is not stored, and goes only
            to this service.
          </p>
        </form>
        <div class="key-used" data-key-used hidden>
          <p>
            Requests are sent with the key <code data-key-name />. They are real: what you create,
            change and delete is stored. Reloading this page or leaving the reference forgets the
            key.
          </p>
          <button class="button button-quiet" type="button" data-key-forget>
            Forget the key
          </button>
        </div>
        <p class="key-issue" data-key-issue role="alert" />
      </section>
      <noscript>
        <p class="notice notice-info">
          With JavaScript enabled, this page accepts an API key, shows the tables of its app, and
          sends requests.
        </p>
      </noscript>
    </>
  );
}
