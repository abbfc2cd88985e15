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

/** Small links to the actions on a row, which `heard` names to screen readers. What ends something is in a menu. */
export function renderRowActions(
  heard: Part,
  actions: readonly RowAction[],
  { isDialog = true }: Pick<LinkOptions, "isDialog"> = {},
): Html {
  const what = <span class="visually-hidden"> {heard}</span>;
  const toLink = ([name, path, tone]: RowAction) =>
    renderLink([name, what], path, tone, { isDialog, isSmall: true });
  const hidden = actions.filter(([, , tone]) => tone === "danger");
  const visible = actions.filter((action) => !hidden.includes(action));
  return (
    <span class="row-actions">
      {visible.map((action) => [toLink(action), " "])}
      {hidden.length > 0 && renderMenu(heard, hidden.map(toLink), hidden[0]?.[1] ?? "")}
    </span>
  );
}

/** A button that shows links: browsers open and close the menu without a script. `of` is its id. */
export function renderMenu(heard: Part, links: readonly Part[], of: string): Html {
  const id = `menu:${of}`;
  return (
    <span class="more-menu">
      <button class="button button-quiet button-small" type="button" popovertarget={id}>
        <span aria-hidden="true">⋯</span>
        <span class="visually-hidden">More for {heard}</span>
      </button>
      <span class="more-list" id={id} popover>
        {links}
      </span>
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
