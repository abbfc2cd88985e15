/** What a description needs of a route. @module */
import type { Method, Operation, Route } from "../http/mod.ts";
import type { Scope } from "../principal.ts";

/** An endpoint of the route table, as far as a description needs it. */
export type DescribedRoute = {
  readonly method: Method;
  readonly path: string;
  readonly access: Route<never>["access"];
  readonly scope?: Scope;
  readonly operation?: Operation;
  readonly previewed?: Route<never>["previewed"];
};
