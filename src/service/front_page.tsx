/** @jsxImportSource #html @jsxRuntime automatic */
/** The page for browsers that open an API host: explains the service, and links to sign-in. @module */
import { acceptsHtml, type VirtualHost } from "../http/mod.ts";
import { PATHS } from "../identity/mod.ts";
import { respondWithMessage } from "../pages/mod.ts";

/** Paths of the API, which always get JSON errors. */
const API = /^\/v1(\/|$)/;

type Visit = {
  request: Request;
  path: string;
  virtualHost: VirtualHost;
  /** The origin of the identity pages; `undefined` if they are on this host. */
  identityUrl: string | undefined;
};

/** The page for an unknown path; `undefined` for API clients, and on the host of the identity pages, which has its own. */
export function respondWithFrontPage(visit: Visit): Response | undefined {
  const { request, path, virtualHost, identityUrl = "" } = visit;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isRead || virtualHost === "identity" || API.test(path)) return undefined;
  if (!acceptsHtml(request.headers.get("accept"))) return undefined;
  const isFront = path === "/";
  const title = isFront ? "This is a Rowhouse service" : "Page not found";
  const text = (
    <>
      <p>This is the address of a Rowhouse service, which stores apps' rows and handles sign-in.</p>
      <p>
        Programs use the API under /v1 with an API key: see the <a href="/docs">API reference</a>.
        Users sign in on their account page, which lists their apps.
      </p>
    </>
  );
  const next = { name: "Your account", path: `${identityUrl}${PATHS.login}` };
  return respondWithMessage(
    { title, text, next, hasSignOut: false },
    { status: isFront ? 200 : 404, headers: { vary: "accept" } },
  );
}
