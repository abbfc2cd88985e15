/** @jsxImportSource #html @jsxRuntime automatic */
/** The frame of the Console's pages: breadcrumbs, navigation and visitor. @module */

import { RELEASE_TEXT } from "../db/mod.ts";
import { CONSOLE_PATH, describeProblem, PATHS, type RejectedRequest } from "../identity/mod.ts";
import { type Html, type Part, renderBrand, respondWithPage, SIGN_OUT_PATH } from "../pages/mod.ts";
import type { Problem } from "../problem.ts";
import type { ConsoleVisitor } from "../records/console/mod.ts";
import { inDigits } from "../std/count.ts";
import { DOCS, FIND } from "./paths.ts";

/** The entries of the navigation. The shortcut of each entry is `g`, then its key. */
const ENTRIES = [
  { name: "Home", path: CONSOLE_PATH, key: "h" },
  { name: "Apps", path: `${CONSOLE_PATH}/apps`, key: "a" },
  { name: "People", path: `${CONSOLE_PATH}/people`, key: "p" },
  { name: "Tables", path: `${CONSOLE_PATH}/tables`, key: "t" },
  { name: "Requests", path: `${CONSOLE_PATH}/requests`, key: "r" },
  { name: "Activity", path: `${CONSOLE_PATH}/activity`, key: "l" },
] as const;

export type Crumbs = readonly { name: string; path: string }[];

export type ConsolePage = {
  me: ConsoleVisitor;
  /** The entry in the navigation; defaults to the first parent page, or to the page itself. */
  entry?: (typeof ENTRIES)[number]["name"];
  title: string;
  /** Whether the title is a value of an app, in any direction of text. */
  isValue?: boolean;
  /** Distinguishes pages with the same heading; only in the window's title. */
  part?: string;
  /** The parent pages. */
  crumbs?: Crumbs;
  /** Buttons and links next to the heading. */
  actions?: Part;
  /** Pages beside this one, in the navigation. */
  beside?: { name: string; pages: Crumbs };
  /** Content below the heading, such as tabs. */
  tabs?: Part;
  body: Part;
  status?: number;
  /** The script of a page with a grid of rows, or of an import. */
  script?: "rows_page" | "row_page" | "import_page" | "undo_page";
};

export function respondWithConsolePage(page: ConsolePage): Response {
  return respondWithPage(
    {
      title: toWindowTitle(page),
      body: renderFrame(page),
      width: "own",
      scripts: page.script === undefined ? ["console"] : ["console", page.script],
    },
    { status: page.status ?? 200 },
  );
}

/** The title, from the page up to its entry, so that browser tabs and bookmarks differ. */
function toWindowTitle({ part, title, crumbs = [] }: ConsolePage): string {
  const above = crumbs.map(({ name }) => name).toReversed();
  return [part, title, ...above].filter((name) => name !== undefined).join(" · ");
}

/** An error page with the navigation. */
export function respondWithConsoleProblem(problem: Problem, rejected: RejectedRequest): Response {
  const { title, body, headers } = describeProblem(problem, rejected);
  return respondWithPage(
    { title, body: renderFrame({ title, body }), width: "own", scripts: ["console"] },
    { status: problem.status, headers },
  );
}

/** The frame of an error page has no visitor, and so no personal data. */
type Framed = Partial<ConsolePage> & Pick<ConsolePage, "title" | "body">;

function renderFrame(page: Framed): Html {
  const { me, entry, title, isValue = false, crumbs = [], actions, beside, tabs, body } = page;
  const current = entry ?? crumbs[0]?.name ?? title;
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="console">
        <nav class="side" aria-label="Console" data-visitor={me?.id}>
          <a class="side-brand" href={CONSOLE_PATH}>
            {renderBrand(24)}
          </a>
          <form class="jump" method="get" action={FIND} role="search">
            <input
              type="search"
              name="q"
              data-keys="/"
              maxlength="254"
              aria-label="Find anything"
              placeholder="Find anything"
              data-placeholder="App, person, table, key or request id"
              autocomplete="off"
              spellcheck="false"
              autocapitalize="none"
            />
            <button
              class="palette-button"
              type="button"
              data-keys="Ctrl+K"
              data-keys-for="Open the command palette"
              hidden
            >
              <kbd>Ctrl K</kbd>
              <span class="visually-hidden"> opens the command palette</span>
            </button>
          </form>
          <ul class="side-list">
            {ENTRIES.map(({ name, path, key }) => (
              <li>
                <a
                  href={path}
                  data-keys={`g ${key}`}
                  data-keys-for={name}
                  aria-current={name === current && "page"}
                >
                  {name}
                  {renderCount(name, me)}
                </a>
              </li>
            ))}
          </ul>
          {beside && (
            <section class="beside" aria-labelledby="beside">
              <h2 class="recent-name" id="beside">
                <bdi>{beside.name}</bdi>
              </h2>
              <ul class="side-list">
                {beside.pages.map(({ name, path }) => (
                  <li>
                    <a href={path} aria-current={name === title && "page"}>
                      <bdi>{name}</bdi>
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          )}
          <section class="recent" aria-labelledby="recent" hidden>
            <h2 class="recent-name" id="recent">
              Recent apps
            </h2>
            <ul class="side-list" />
          </section>
          <div class="me">
            {me !== undefined && (
              <>
                <span class="me-name">{me.displayName ?? me.email}</span>
                <span class="quiet me-role">
                  {me.role === "super_admin" ? "super admin" : "admin"}
                </span>
              </>
            )}{" "}
            <span class="me-links">
              <a href={PATHS.account}>Account</a> <a href={DOCS}>Docs</a>{" "}
              <a href={SIGN_OUT_PATH} data-sign-out>
                Sign out
              </a>
            </span>{" "}
            <label class="theme" hidden>
              Theme{" "}
              <select data-theme-choice>
                <option value="system">system</option>
                <option value="light">light</option>
                <option value="dark">dark</option>
              </select>
            </label>{" "}
            <button class="keys-button" type="button" data-keys="?" hidden>
              Keyboard shortcuts
            </button>
            {me !== undefined && <span class="quiet me-version">Rowhouse {RELEASE_TEXT}</span>}
          </div>
        </nav>
        <main class="work" id="main" tabindex="-1">
          <header class="head">
            <div class="head-text">
              {crumbs.length > 0 && (
                <p class="crumbs">
                  {crumbs.map(({ name, path }) => (
                    <a href={path}>{name}</a>
                  ))}
                </p>
              )}
              <h1>{isValue ? <bdi>{title}</bdi> : title}</h1>
            </div>
            {actions !== undefined && <div class="head-actions">{actions}</div>}
          </header>
          {tabs}
          {typeof me?.factorDueAt === "string" && (
            <p class="notice notice-warn">
              The Console requires a second factor from {me.factorDueAt.slice(0, 10)}.{" "}
              <a href={PATHS.security}>Add a second factor</a>.
            </p>
          )}
          {body}
        </main>
      </div>
    </>
  );
}

/** The count; hidden from screen readers, so that the link's name stays short. */
function renderCount(name: string, me: ConsoleVisitor | undefined): Html | undefined {
  const count = new Map(Object.entries(me?.counts ?? {})).get(name);
  if (count === undefined) return undefined;
  return (
    <>
      {" "}
      <span class="side-count" aria-hidden="true">
        {inDigits(count)}
      </span>
    </>
  );
}
