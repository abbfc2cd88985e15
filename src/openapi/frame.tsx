/** @jsxImportSource #html @jsxRuntime automatic */
/** The frame of the reference and of the guides: navigation next to the content. @module */
import { type Html, ICON, type Part } from "../pages/mod.ts";

export const REFERENCE_PATH = "/docs";
export const SEARCH_PATH = `${REFERENCE_PATH}/search`;

type Frame = {
  /** The section of the navigation. */
  name: string;
  menu: Part;
  content: Part;
};

export function renderFrame({ name, menu, content }: Frame): Html {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <div class="reference-page">
        <header class="top">
          <a class="top-brand" href={REFERENCE_PATH}>
            <img src={ICON.path} alt="" width="24" height="24" />
            <span>Rowhouse</span> <span class="quiet">API</span>
          </a>{" "}
          <button class="button button-quiet menu-button" type="button" popovertarget="menu">
            Menu
          </button>
        </header>
        <nav class="menu" id="menu" aria-label={name} popover>
          {menu}
        </nav>
        <main class="reference-main" id="main" tabindex="-1">
          <form class="jump docs-search" method="get" action={SEARCH_PATH} role="search">
            <input
              type="search"
              name="q"
              maxlength="100"
              aria-label="Search the docs"
              placeholder="Search the docs"
              autocomplete="off"
              spellcheck="false"
              autocapitalize="none"
            />
            <button class="palette-button" type="button" hidden>
              <kbd>Ctrl K</kbd>
              <span class="visually-hidden"> searches over the page</span>
            </button>
          </form>
          {content}
        </main>
      </div>
    </>
  );
}

export type Entry = {
  name: string;
  path: string;
  isCurrent?: boolean;
  method?: string;
  /** The entries of its page. */
  parts?: readonly Entry[];
};

export function renderMenuGroup(name: string, entries: readonly Entry[]): Html {
  return (
    <>
      <h2>{name}</h2>
      {renderEntries(entries)}
    </>
  );
}

function renderEntries(entries: readonly Entry[]): Html {
  return <ul>{entries.map(renderEntry)}</ul>;
}

function renderEntry({ name, path, isCurrent = false, method, parts = [] }: Entry): Html {
  return (
    <li>
      <a href={path} aria-current={isCurrent && "page"}>
        <span class="menu-name">{name}</span>
        {method !== undefined && (
          <span class={`method method-${method.toLowerCase()}`}>{method}</span>
        )}
      </a>
      {parts.length > 0 && renderEntries(parts)}
    </li>
  );
}
