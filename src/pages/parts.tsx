/** @jsxImportSource #html @jsxRuntime automatic */
/** Parts of all pages: links as buttons, pills, tabs, and lists of facts. @module */
import type { Html, Part } from "./html.ts";

type Tone = "primary" | "quiet" | "danger";

type LinkOptions = {
  keys?: string;
  /** Whether a script opens the page of the link, which has one form, in a dialog. */
  isDialog?: boolean;
  isFocused?: boolean;
  isSmall?: boolean;
};

/** A link that looks like a button. */
export function renderLink(
  name: Part,
  path: string,
  tone: Tone = "quiet",
  { keys, isDialog = false, isFocused = false, isSmall = false }: LinkOptions = {},
): Html {
  return (
    <a
      class={`button button-${tone}${isSmall ? " button-small" : ""}`}
      href={path}
      data-keys={keys}
      data-dialog={isDialog}
      autofocus={isFocused}
    >
      {name}
    </a>
  );
}

type RowAction = readonly [name: string, path: string, tone?: Tone];

/** Small links to the actions on a row, which `heard` names to screen readers. */
export function renderRowActions(
  heard: Part,
  actions: readonly RowAction[],
  { isDialog = true }: Pick<LinkOptions, "isDialog"> = {},
): Html {
  const what = <span class="visually-hidden"> {heard}</span>;
  return (
    <span class="row-actions">
      {actions.map(([name, path, tone], index) => [
        index > 0 && " ",
        renderLink([name, what], path, tone, { isDialog, isSmall: true }),
      ])}
    </span>
  );
}

export function renderPill(text: string, tone: "good" | "warn" | "bad" | "plain" = "plain"): Html {
  return <span class={`pill pill-${tone}`}>{text}</span>;
}

/** Links to the pages of one thing. */
export function renderTabs(
  label: string,
  tabs: readonly { readonly name: string; readonly path: string; readonly count?: number }[],
  current: string,
): Html {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, path, count }) => (
        <a href={path} aria-current={name === current && "page"}>
          {name}
          {count !== undefined && [" ", <span class="tab-count">{count}</span>]}
        </a>
      ))}
    </nav>
  );
}

/** Parts in a row, with commas between them. */
export function joinParts(parts: readonly Part[]): Part[] {
  return parts.map((part, index) => [index > 0 && ", ", part]);
}

/** A fact's name, its value, and what the reader can do with it. A fact whose value is `false` does not exist. */
export type Fact = readonly [name: string, value: Part, action?: Part];

/** Facts as small `figures`, or as `facts` with a line each. */
export function renderFacts(kind: "figures" | "facts", facts: readonly Fact[]): Html {
  return (
    <dl class={kind}>
      {facts.map(
        ([name, value, action = false]) =>
          value !== false && (
            <div>
              <dt>{name}</dt>
              <dd>{value}</dd>
              {action !== false && <dd>{action}</dd>}
            </div>
          ),
      )}
    </dl>
  );
}
