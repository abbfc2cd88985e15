/** @jsxImportSource #html @jsxRuntime automatic */
/** Parts of the Console's pages. Input is isolated and truncated, so that it cannot break the layout. @module */
import { type Field, type Html, type Part, renderCopyButton, renderField } from "../pages/mod.ts";

export { renderTime } from "../pages/mod.ts";

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
type Column = string | { name: string; isNumber?: boolean; isHidden?: boolean };

/** A column of numbers. */
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

function renderHead({ name, isNumber = false, isHidden = false }: Exclude<Column, string>): Html {
  const text = isHidden ? <span class="visually-hidden">{name}</span> : name;
  return (
    <th scope="col" class={isNumber && "num"}>
      {text}
    </th>
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

/** With `isDialog`, a script opens the page of the link, which has one form, in a dialog. */
export function renderLink(
  name: string,
  path: string,
  tone: "primary" | "quiet" | "danger" = "quiet",
  options: { keys?: string; isDialog?: boolean; isFocused?: boolean } = {},
): Html {
  return (
    <a
      class={`button button-${tone}`}
      href={path}
      data-keys={options.keys}
      data-dialog={options.isDialog === true}
      autofocus={options.isFocused === true}
    >
      {name}
    </a>
  );
}

/** A text to paste elsewhere, with a copy button. */
export function renderSnippet({ id, name, text }: Record<"id" | "name" | "text", string>): Html {
  return (
    <div class="copyable">
      <pre class="snippet" tabindex="0" aria-label={name}>
        <code id={id}>{text}</code>
      </pre>
      {renderCopyButton(id, name)}
    </div>
  );
}

export function renderPill(text: string, tone: "good" | "warn" | "bad" | "plain" = "plain"): Html {
  return <span class={`pill pill-${tone}`}>{text}</span>;
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
