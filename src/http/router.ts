/**
 * Routes as data: a table of method, path and access that the router, the isolation tests and the docs share. Paths are
 * matched by segment on the text as received; nothing is decoded.
 *
 * @module
 */
import type { Trace } from "../observe.ts";
import type { Preview } from "../preview.ts";
import type { Principal, Scope } from "../principal.ts";
import type { Operation } from "./operation.ts";

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** A request while it is handled. */
export type RequestContext = {
  readonly request: Request;
  readonly requestId: string;
  readonly trace?: Trace | undefined;
  /** Path segments bound to the route's `:names`, as sent. */
  readonly params: Readonly<Record<string, string>>;
  /** The query string without `?`, as sent. */
  readonly query: string;
  /** The client's address, from the socket or a trusted proxy. */
  readonly address: string;
  /** Sums up the database time. */
  readonly meter: { dbMs: number };
};
export type KeyRequestContext = RequestContext & { readonly principal: Principal };

export type OptionalKeyContext = RequestContext & { readonly principal?: Principal | undefined };

type HandlerResult = Response | Promise<Response>;

type Endpoint = {
  readonly method: Method;
  /** `*` at the end stands for all paths without another route. */
  readonly path: string;
  /** For the OpenAPI document; undefined for pages. */
  readonly operation?: Operation;
  /** Replaces `operation` if a preview is enabled. */
  readonly previewed?: Readonly<Partial<Record<Preview, Operation>>>;
  /** The preview without which the path does not have this method. */
  readonly preview?: Preview;
  /** Whether the last segment is also a value of a parameter: the routes of that parameter have the other methods of the path. */
  readonly isAlsoValue?: true;
};

/** An endpoint for holders of an API key with a scope. */
export type KeyRoute<Deps> = Endpoint & {
  readonly access: "key";
  readonly scope: Scope;
  /** Keys with this scope are also accepted: the handler checks the request. */
  readonly lesserScope?: Scope;
  /** Whether people's keys are accepted, whose rows the handler and the database restrict. */
  readonly acceptsPeople?: true;
  readonly handle: (deps: Deps, context: KeyRequestContext) => HandlerResult;
};
/** An open endpoint, or an endpoint for a session, whose cookie the handler reads. */
type OpenRoute<Deps> = Endpoint & {
  readonly access: "open" | "session" | "optional-session";
  readonly handle: (deps: Deps, context: RequestContext) => HandlerResult;
};
/** An open endpoint that returns more with a key. A presented key must be valid. */
type OptionalKeyRoute<Deps> = Endpoint & {
  readonly access: "optional-key";
  readonly handle: (deps: Deps, context: OptionalKeyContext) => HandlerResult;
};
/** An endpoint. `access` defines the checks before `handle` runs. */
export type Route<Deps> = KeyRoute<Deps> | OptionalKeyRoute<Deps> | OpenRoute<Deps>;

export type Match<Deps> = {
  readonly route: Route<Deps> | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The value of `Allow`: the path's methods, `HEAD` with `GET`, and always `OPTIONS`. */
  readonly allow: string;
};

export type Router<Deps> = (method: string, path: string) => Match<Deps> | undefined;

type Node<Deps> = {
  literals: Map<string, Node<Deps>>;
  parameter: { name: string; node: Node<Deps> } | undefined;
  /** The routes of all paths below this one that have no other route. */
  rest: Node<Deps> | undefined;
  methods: Map<string, Route<Deps>>;
  allow: string;
  isAlsoValue: boolean;
};

const NO_PARAMS = Object.freeze({});

/**
 * A router over `routes`. Returns `undefined` if no path matches, and `route: undefined` if only the method does not match.
 *
 * @throws {Error} two routes with one method and path, or two names for one parameter
 */
export function makeRouter<Deps>(routes: readonly Route<Deps>[]): Router<Deps> {
  const root = makeNode<Deps>();
  for (const route of routes) addRoute(root, route);
  shareMethods(root);
  return (method, path) => {
    const segments = path.split("/");
    let node: Node<Deps> | undefined = root;
    let params: Record<string, string> | undefined;
    let rest: Match<Deps> | undefined;
    for (let index = 1; index < segments.length; index++) {
      const segment: string = segments[index] ?? "";
      const other = node.rest?.methods.get(method);
      if (other !== undefined)
        rest = { route: other, params: NO_PARAMS, allow: node.rest?.allow ?? "" };
      const literal: Node<Deps> | undefined = node.literals.get(segment);
      const isValue = literal === undefined || literal.isAlsoValue;
      if (isValue && node.parameter !== undefined && segment !== "") {
        params ??= {};
        params[node.parameter.name] = segment;
      }
      node = literal ?? (segment === "" ? undefined : node.parameter?.node);
      if (node === undefined) return rest;
    }
    if (node.methods.size === 0) return rest;
    return { route: node.methods.get(method), params: params ?? NO_PARAMS, allow: node.allow };
  };
}

function makeNode<Deps>(): Node<Deps> {
  return {
    ...{ literals: new Map(), parameter: undefined, rest: undefined, methods: new Map() },
    ...{ allow: "", isAlsoValue: false },
  };
}

/** Gives paths whose last segment is also a value of a parameter the other methods of that parameter. */
function shareMethods<Deps>({ literals, parameter }: Node<Deps>): void {
  for (const literal of literals.values()) {
    shareMethods(literal);
    if (!literal.isAlsoValue || parameter === undefined) continue;
    literal.methods = new Map([...parameter.node.methods, ...literal.methods]);
    literal.allow = toAllow(literal);
  }
  if (parameter !== undefined) shareMethods(parameter.node);
}

function toAllow<Deps>({ methods }: Node<Deps>): string {
  return [...methods.keys(), "OPTIONS"].join(", ");
}

function addRoute<Deps>(root: Node<Deps>, route: Route<Deps>): void {
  let node = root;
  for (const segment of route.path.split("/").slice(1))
    node = addSegment(node, segment, route.path);
  if (node.methods.has(route.method))
    throw new Error(`Route ${route.method} ${route.path} is registered twice`);
  node.methods.set(route.method, route);
  if (route.method === "GET") node.methods.set("HEAD", route);
  node.allow = toAllow(node);
  if (route.isAlsoValue === true) node.isAlsoValue = true;
}

function addSegment<Deps>(node: Node<Deps>, segment: string, path: string): Node<Deps> {
  if (segment === "*") {
    node.rest ??= makeNode<Deps>();
    return node.rest;
  }
  if (segment.startsWith(":")) {
    node.parameter ??= { name: segment.slice(1), node: makeNode<Deps>() };
    if (node.parameter.name !== segment.slice(1))
      throw new Error(`Route ${path} renames a parameter`);
    return node.parameter.node;
  }
  return node.literals.getOrInsertComputed(segment, () => makeNode<Deps>());
}

/** Path and query of a request target as received: without decoding and without a fragment. */
export function splitTarget(url: string): { path: string; query: string } {
  const scheme = url.indexOf("://");
  const start = url.startsWith("/") ? 0 : scheme === -1 ? -1 : url.indexOf("/", scheme + 3);
  if (start === -1) return { path: "", query: "" };
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark > end) return { path: url.slice(start, end), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1, end) };
}

/** The inverse of {@linkcode splitTarget}. */
export function toTarget({ path, query }: { path: string; query: string }): string {
  return query === "" ? path : `${path}?${query}`;
}

/** The host of the API, of the identity pages, or of both. */
export const VIRTUAL_HOSTS = ["gateway", "identity", "both"] as const;
export type VirtualHost = (typeof VIRTUAL_HOSTS)[number];
