/** The parts of a route that a description needs. @module */
import type { Method, Operation, Route } from "../http/mod.ts";
import type { Scope } from "../principal.ts";

export type DescribedRoute = {
  readonly method: Method;
  readonly path: string;
  readonly access: Route<never>["access"];
  readonly scope?: Scope;
  readonly operation?: Operation;
  readonly previewed?: Route<never>["previewed"];
  readonly previewedPaths?: Route<never>["previewedPaths"];
};
