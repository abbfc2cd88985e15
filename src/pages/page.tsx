/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * A whole page: its frame, its head and its security headers. Pages work without JavaScript and have no inline code. The headers
 * allow scripts only from this service, and only on pages that list scripts.
 *
 * @module
 */

import { toBody, withCookies } from "../http/mod.ts";
import {
  brandName,
  ICON,
  renderBrand,
  type ScriptName,
  STYLES,
  STYLESHEET,
  type StyleName,
  toScriptPath,
} from "./assets.tsx";
import type { Html, Part } from "./html.ts";
import { renderLink } from "./parts.tsx";

export type Page = {
  title: string;
  body: Html;
  /** `wide` for lists, `narrow` for forms; `own` pages render their own frame. */
  width?: "narrow" | "wide" | "own";
  /** Whether the frame links to the sign-out. Only pages for visitors without a session lack it. Defaults to true. */
  hasSignOut?: boolean;
  /** Stylesheets in addition to the common one. Defaults to none. */
  styles?: readonly StyleName[];
  /** Defaults to none. */
  scripts?: readonly ScriptName[];
};

export type PageOptions = {
  status?: number;
  headers?: Record<string, string> | undefined;
  cookies?: readonly string[];
  /** Other origins that a form of this page can redirect to: browsers apply `form-action` to redirects, too. */
  formTargets?: readonly string[];
};

export function respondWithPage(page: Page, options: PageOptions = {}): Response {
  const markup = new TextEncoder().encode(renderPage(page).markup);
  const response = new Response(toBody(markup), {
    status: options.status ?? 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      ...toPageHeaders(options.formTargets ?? [], page.scripts),
      ...options.headers,
    },
  });
  return withCookies(response, options.cookies ?? []);
}

/** A page that says one thing, and links to the page that follows. */
type Message = Omit<Page, "body"> & {
  /** Defaults to the title. */
  heading?: Part;
  text: Part;
  next: { name: Part; path: string };
  /** Below the link. */
  below?: Part;
};

export function respondWithMessage(
  { heading, text, next, below, ...page }: Message,
  options?: PageOptions,
): Response {
  const body = (
    <>
      <h1>{heading ?? page.title}</h1>
      {text}
      <p>{renderLink(next.name, next.path, "primary")}</p>
      {below}
    </>
  );
  return respondWithPage({ ...page, body }, options);
}

export function redirect(
  location: string,
  options: { cookies?: readonly string[] } = {},
): Response {
  const response = new Response(null, {
    status: 303,
    headers: { location, ...toPageHeaders([]) },
  });
  return withCookies(response, options.cookies ?? []);
}

function toPageHeaders(
  formTargets: readonly string[],
  scripts: readonly ScriptName[] = [],
): Record<string, string> {
  const formAction = ["'self'", ...formTargets].join(" ");
  return {
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'${toScriptPolicy(scripts)}`,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": toPermissions(scripts),
    // Not no-referrer: with that, a browser sends `Origin: null` with its own forms.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
  };
}

/** Allows passkeys on a page that requests them, never in its frames. */
function toPermissions(scripts: readonly ScriptName[]): string {
  const who = scripts.includes("passkey") ? "(self)" : "()";
  return `publickey-credentials-create=${who}, publickey-credentials-get=${who}`;
}

/** The only scripts that call the service. */
const CALLERS: readonly ScriptName[] = ["console", "guide", "reference"];

/**
 * Trusted types prevent scripts from turning text into markup or code. No script makes a policy.
 */
function toScriptPolicy(scripts: readonly ScriptName[]): string {
  if (scripts.length === 0) return "";
  const connect = scripts.some((name) => CALLERS.includes(name)) ? "; connect-src 'self'" : "";
  return `; script-src 'self'${connect}; require-trusted-types-for 'script'; trusted-types 'none'`;
}

/** The page that ends sessions, which the frames link to. */
export const SIGN_OUT_PATH = "/sign-out";

function renderPage(page: Page): Html {
  const { title, body, width = "narrow", styles = [], scripts = [], hasSignOut = true } = page;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>
          {title} · {brandName()}
        </title>
        <link rel="icon" href={ICON.path} type="image/svg+xml" />
        <link rel="stylesheet" href={STYLESHEET.path} />
        {styles.map((name) => (
          <link rel="stylesheet" href={STYLES[name].path} />
        ))}
        {scripts.includes("console") && <script src={toScriptPath("theme")} />}
        {scripts.map((name) => (
          <script type="module" src={toScriptPath(name)} />
        ))}
      </head>
      <body class={`page page-${width}`}>
        {width === "own" ? body : renderFrame(body, { width, hasSignOut })}
      </body>
    </html>
  );
}

function renderFrame(
  body: Html,
  { width, hasSignOut }: { width: "narrow" | "wide"; hasSignOut: boolean },
): Html {
  return (
    <div class={`frame frame-${width}`}>
      <header class="brand">{renderBrand(32)}</header>
      <main class="card">{body}</main>
      <footer class="foot">
        One account for all your apps
        {hasSignOut && (
          <>
            {" "}
            · <a href={SIGN_OUT_PATH}>Sign out</a>
          </>
        )}
      </footer>
    </div>
  );
}
