/** Failed, slow and rejected requests in the Console. @module */
import { Problem } from "../../problem.ts";
import { type ConsoleDeps, callConsole, type PresentedCookies } from "../actions/action.ts";
import type { PageView } from "./apps.ts";

export type StoredRequest = {
  id: string;
  app: string | null;
  at: string;
  method: string;
  route: string;
  status: number;
  code: string | null;
  ms: number;
  /** The key that was presented. */
  keyId: string | null;
  table: string | null;
  /** JSON pointers to the invalid fields. */
  paths: string[];
  /** The number of requests that the entry represents: the stored request, and equal requests that were not stored. */
  requests: number;
};

export const REQUEST_KINDS = ["rejected", "failed", "slow"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** An empty or undefined field does not filter. */
export type RequestFilter = {
  /** A request id, or its last 12 characters. */
  reference: string;
  app: string;
  kind: RequestKind | "";
  code: string;
  table: string;
  key: string;
  /** The name of an invalid column. */
  field: string;
  from: Date | undefined;
  before: Date | undefined;
};

/** The latest matching requests; at most `maxRows`. */
export async function listConsoleRequests(
  deps: ConsoleDeps,
  cookies: PresentedCookies,
  { maxRows, ...filter }: RequestFilter & { maxRows: number },
): Promise<PageView<{ requests: StoredRequest[] }>> {
  const page = await callConsole(deps, cookies, "console_list_requests", {
    of_reference: filter.reference,
    of_app: filter.app,
    of_kind: filter.kind,
    of_code: filter.code,
    of_table: filter.table,
    of_key: filter.key,
    of_field: filter.field,
    from_at: filter.from,
    before_at: filter.before,
    max_rows: maxRows,
  });
  return page as PageView<{ requests: StoredRequest[] }>;
}

export type RequestView = StoredRequest & {
  /** Null if the key was deleted. */
  key: {
    name: string;
    app: string;
    scopes: string[];
    expiresAt: string | null;
    revokedAt: string | null;
  } | null;
  /** The last push of the app before the request. */
  lastPush: { seq: number; at: string } | null;
};

/** @throws {Problem} not_found — the request is not stored */
export async function showConsoleRequest(
  deps: ConsoleDeps,
  cookies: PresentedCookies,
  id: string,
): Promise<PageView<{ request: RequestView }>> {
  const page = await callConsole(deps, cookies, "console_show_request", { wanted: id });
  const { me, request } = page as PageView<{ request: RequestView | null }>;
  if (request !== null) return { me, request };
  throw new Problem("not_found", { message: "No stored request has this id" });
}
