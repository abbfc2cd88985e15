/**
 * The app's server. It has the API key, so that browsers do not need it. It accepts requests only from its own exact origin,
 * and checks the session at the identity service before it reads or writes a row.
 *
 * @module
 */
import { join, normalize, sep } from "node:path";
import { createDataClient, DataError, relay } from "rowhouse/data";
import schema from "../../../schema/mod.ts";
import { type Todo, toQuery } from "../src/view.ts";

export type TodoServerOptions = {
  /** This app's own origin, exactly as the browser sends it. */
  origin: string;
  /** The gateway's base URL. */
  serviceUrl: string;
  /** This app's slug. */
  app: string;
  apiKey: string;
  /** The folder of the built pages. */
  pages: string;
};

type Client = ReturnType<typeof makeClient>;

/** A handler for `Bun.serve`: the built pages, and `/api/todos` for signed-in people. */
export function makeTodoServer(
  options: TodoServerOptions,
): (request: Request) => Promise<Response> {
  const client = makeClient(options);
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/api/")) {
      const isRead = request.method === "GET" || request.method === "HEAD";
      return isRead
        ? servePage(options.pages, request, pathname)
        : respond(405, { message: "Pages accept only GET and HEAD" });
    }
    const rejection =
      rejectOrigin(request, options.origin) ?? (await rejectPerson(request, options));
    return rejection ?? (await serveTodos(client, request, pathname));
  };
}

function makeClient({ serviceUrl, apiKey }: TodoServerOptions) {
  return createDataClient({ baseUrl: serviceUrl, apiKey, schema });
}

/** Rejects requests from other pages: browsers send the origin of a request, and a page cannot forge it. */
function rejectOrigin(request: Request, own: string): Response | undefined {
  const origin = request.headers.get("origin");
  const isOwn =
    origin === null ? request.headers.get("sec-fetch-site") === "same-origin" : origin === own;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isOwn && (isRead || origin !== null)) return undefined;
  return respond(403, { message: "Requests from other origins are rejected" });
}

/** Checks the session with the cookie of the request: the person must have a role on this app. */
async function rejectPerson(
  request: Request,
  options: TodoServerOptions,
): Promise<Response | undefined> {
  const url = `${options.serviceUrl}/v1/auth/me?app=${encodeURIComponent(options.app)}`;
  try {
    const session = await fetch(url, { headers: { cookie: request.headers.get("cookie") ?? "" } });
    if (session.status === 200) return undefined;
    if (session.status === 401) return respond(401, { message: "You are not signed in" });
    if (session.status === 403) return respond(403, { message: "You have no role on this app" });
  } catch {
    // Unreachable: the same response as for other failures of this check.
  }
  return respond(503, { message: "The service is unavailable" });
}

const TODOS = "/api/todos";
const MAX_STREAM_MS = 60_000;

/** The row operations that the pages need. */
async function serveTodos(client: Client, request: Request, pathname: string): Promise<Response> {
  const id = pathname.startsWith(`${TODOS}/`) ? pathname.slice(TODOS.length + 1) : undefined;
  try {
    if (pathname === TODOS && request.method === "GET")
      return respond(200, await listTodos(client, new URL(request.url).searchParams));
    if (pathname === `${TODOS}/live` && request.method === "GET")
      return relay((signal) => watchTodos(client, signal), {
        // The browser connects again, and its session is checked again.
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(MAX_STREAM_MS)]),
      });
    if (pathname === TODOS && request.method === "POST")
      return respond(201, await client.todos.create(await request.json()));
    if (id !== undefined && request.method === "PATCH")
      return respond(200, await client.todos.update(id, await request.json()));
    if (id !== undefined && request.method === "DELETE") {
      await client.todos.delete(id);
      return new Response(null, { status: 204 });
    }
    return respond(404, { message: "Not found" });
  } catch (error) {
    if (error instanceof SyntaxError) return respond(400, { message: "The body must be JSON" });
    if (error instanceof DataError) return respond(toStatus(error), { message: error.message });
    throw error;
  }
}

/** An event without rows after each change of a todo: the page then reads its own view. */
async function* watchTodos(client: Client, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const { type } of client.todos.changes({ signal })) yield type;
  } catch (error) {
    if (!(error instanceof DataError) || error.code !== "not_implemented") throw error;
    // Without live updates: the first 1,000 todos, which the service is asked for again and again.
    for await (const _ of client.todos.watch({ signal })) yield "changes";
  }
}

/** Without the preview of filters the service returns all todos, and the page filters them. */
async function listTodos(client: Client, query: URLSearchParams): Promise<readonly Todo[]> {
  const view = {
    search: query.get("search") ?? "",
    isOpenOnly: query.has("open"),
    isByDueDate: query.has("due"),
  };
  try {
    return (await client.todos.list(toQuery(view))).rows;
  } catch (error) {
    if (!(error instanceof DataError) || error.code !== "unsupported_query") throw error;
    return (await client.todos.list()).rows;
  }
}

/** Passes on only errors that the person can correct. Others, such as a rejected key, become 503. */
function toStatus({ status }: DataError): number {
  return status === 404 || status === 409 || status === 413 || status === 422 ? status : 503;
}

const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

async function servePage(pages: string, request: Request, pathname: string): Promise<Response> {
  const path = normalize(join(pages, pathname === "/" ? "index.html" : pathname));
  const file = Bun.file(path);
  if (!path.startsWith(pages + sep) || !(await file.exists()))
    return respondWithMissing(pages, request);
  const cache = pathname.startsWith("/assets/")
    ? "public, max-age=31536000, immutable"
    : "no-cache";
  return new Response(file, { headers: { ...PAGE_HEADERS, "cache-control": cache } });
}

/** For links, the page itself, which shows that the address does not exist. */
function respondWithMissing(pages: string, request: Request): Response {
  if (request.headers.get("accept")?.includes("text/html") !== true)
    return respond(404, { message: "Page not found" });
  const headers = { ...PAGE_HEADERS, "cache-control": "no-store" };
  return new Response(Bun.file(join(pages, "index.html")), { status: 404, headers });
}

function respond(status: number, body: unknown): Response {
  return Response.json(body, {
    status,
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}
