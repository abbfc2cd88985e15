/** @jsxImportSource #html @jsxRuntime automatic */
/** Parts of the Console's pages. Input is isolated and truncated, so that it cannot break the layout. @module */

import {
  type Field,
  type Html,
  type Part,
  renderCopyable,
  renderField,
  renderLink,
  renderPill,
} from "../pages/mod.ts";
import type { Scope } from "../principal.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import type { Visit } from "./enter.tsx";
import { toAppPath } from "./paths.ts";

export {
  type Fact,
  joinParts,
  renderFacts,
  renderLink,
  renderMenu,
  renderPill,
  renderRowActions,
  renderTabs,
  renderTime,
} from "../pages/mod.ts";

/** Max displayed characters. */
const NAME_CHARS = 120;

/** A text from users: it cannot change the direction of the text around it, or fill the page. */
export function renderText(text: string): Html {
  return <bdi>{cut(text)}</bdi>;
}

/** An email address, which wraps before the @. */
export function renderAddress(email: string): Html {
  const [name = "", ...domain] = cut(email).split(/(?=@)/);
  return (
    <bdi>
      {name}
      {domain.map((part) => (
        <>
          <wbr />
          {part}
        </>
      ))}
    </bdi>
  );
}

function cut(text: string): string {
  return text.length > NAME_CHARS ? `${text.slice(0, NAME_CHARS)}…` : text;
}

/** The name of a column. Numbers are aligned at the right; a hidden name is only for screen readers. */
type Column = string | Head;
type Head = { name: string; isNumber?: boolean; isHidden?: boolean; sort?: ColumnSort };
/** The link that sorts a list by a column, and its present order. */
export type ColumnSort = { path: string; order: "ascending" | "descending" | undefined };

export function numeric(name: string): Column {
  return { name, isNumber: true };
}

export const ACTIONS_COLUMN: Column = { name: "Actions", isNumber: true, isHidden: true };

/** A table that scrolls horizontally in its own frame. The frame can have the focus, so that keys can scroll it. */
export function renderTable(
  label: string,
  columns: readonly Column[],
  rows: readonly (readonly Part[])[],
): Html {
  const heads = columns.map((column) => (typeof column === "string" ? { name: column } : column));
  return (
    <div class="sheet sheet-tight" role="region" aria-label={label} tabindex="0">
      <table class="list">
        <thead>
          <tr>{heads.map(renderHead)}</tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr>
              {cells.map((cell, index) => (
                <td
                  class={heads[index]?.isNumber === true && "num"}
                  data-label={heads[index]?.name ?? ""}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderHead({ name, isNumber = false, isHidden = false, sort }: Head): Html {
  const text = isHidden ? <span class="visually-hidden">{name}</span> : name;
  return (
    <th scope="col" class={isNumber && "num"} aria-sort={sort?.order}>
      {sort === undefined ? (
        text
      ) : (
        <a class="sort" href={sort.path}>
          {text}
        </a>
      )}
    </th>
  );
}

/** The app of a row, marked if it is disabled. */
export function renderAppName(slug: string, isDisabled: boolean, path = toAppPath(slug)): Html {
  return (
    <>
      <a class="row-name" href={path}>
        {slug}
      </a>
      {isDisabled && <> {renderPill("disabled", "warn")}</>}
    </>
  );
}

/** A box for an empty list, with the next step. */
export function renderEmpty(text: Part, action?: Part): Html {
  return (
    <div class="blank">
      <p>{text}</p>
      {action}
    </div>
  );
}

/** What needs an administrator, each with a fix; nothing without items. */
export function renderAttention(label: string, items: readonly Part[]): Html | undefined {
  if (items.length === 0) return undefined;
  return (
    <section class="attention" aria-label={label}>
      <ul>
        {items.map((item) => (
          <li>{item}</li>
        ))}
      </ul>
    </section>
  );
}

/** A text to paste elsewhere, with a copy button. */
export function renderSnippet({ id, name, text }: Record<"id" | "name" | "text", string>): Html {
  return renderCopyable(id, text, { kind: "snippet", label: name });
}

/** A box to check, such as one of several. */
export function renderCheck(
  name: string,
  text: Part,
  { isChecked, value }: { isChecked: boolean; value?: string },
): Html {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={isChecked} />
      <span>{text}</span>
    </label>
  );
}

/** A field that can be empty. */
export function renderTextField(field: Partial<Field> & Pick<Field, "name" | "label">): Html {
  return renderField({ maxLength: 200, isOptional: true, ...field });
}

export type Choice = { value: string; label: string };

/** The link that cancels a form. It has the focus if the form deletes something. */
export function renderCancel(path: string, tone?: "primary" | "danger"): Html {
  return renderLink("Cancel", path, "quiet", { isFocused: tone === "danger" });
}

/** An error above a form. Screen readers announce it immediately. */
export function renderError(message: string, details: readonly Part[] = []): Html {
  return (
    <div class="notice notice-error" role="alert">
      <p>{message}</p>
      {details.length > 0 && (
        <ul>
          {details.map((detail) => (
            <li>{detail}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

// Snippets for a new key: settings, a shell, a program.

/** The address of the API for programs: browsers resolve names below `localhost`, most programs do not. */
export function toApiUrl({
  deps,
  context,
}: Pick<Visit, "context"> & { deps: Pick<Visit["deps"], "identity"> }): string {
  const { publicUrl, identityUrl } = deps.identity;
  const url = publicUrl ?? identityUrl ?? new URL(context.request.url).origin;
  return url.replace(/^http:\/\/[^/:]+\.localhost(?=[:/]|$)/, "http://localhost");
}

export type Snippet = { name: string; text: string };

/** The placeholder for a table's name if the app has no table. */
export const NO_TABLE = "your_table";

/** Snippets to paste, for a table of the app if it has one. */
export function makeSnippets(options: {
  url: string;
  key: string;
  scopes: readonly Scope[];
  table: string | undefined;
}): Snippet[] {
  const { url, key, scopes, table = NO_TABLE } = options;
  const path = scopes.includes("data:read") ? `/v1/data/db/${table}` : "/v1/data/schema";
  return [
    { name: ".env", text: `ROWHOUSE_URL=${url}\nROWHOUSE_API_KEY=${key}` },
    {
      name: "curl",
      text: `curl -sS ${quoteForShell(url + path)} -H ${quoteForShell(`Authorization: Bearer ${key}`)}`,
    },
    ...(scopes.some((scope) => scope.startsWith("data:")) ? [toProgram({ url, table })] : []),
  ];
}

/** Reads the key from the environment, because programs are committed. */
function toProgram({ url, table }: { url: string; table: string }): Snippet {
  return {
    name: "SDK",
    text: `import { env } from "node:process";
import { createDataClient } from "rowhouse/data";
import schema from "./schema/mod.ts";

const db = createDataClient({
  baseUrl: ${JSON.stringify(url)},
  apiKey: env.ROWHOUSE_API_KEY ?? "",
  schema,
});
const { rows } = await db.${table}.list();`,
  };
}

/** The command that pushes a first table. */
export function renderPushHint(visit: Visit): Html {
  return (
    <>
      <p>
        In your project directory, with a key that can push in <code>.env</code>:
      </p>
      {renderSnippet({
        id: "push-command",
        name: "the command",
        text: `ROWHOUSE_URL=${quoteForShell(toApiUrl(visit))} rowhouse db push`,
      })}
    </>
  );
}
