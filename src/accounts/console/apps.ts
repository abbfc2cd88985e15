/** Reads of the Console's pages, each one call on the Console's login. Never a secret. @module */
import { SCOPES, type Scope } from "../../principal.ts";
import { type ConsoleDeps, callConsole, type PresentedCookies } from "../actions/action.ts";
import type { RegisteredTargets } from "../apps/app_targets.ts";
import type { ListedKey } from "../apps/key_life.ts";
import type { ConsoleRole } from "../people/users.ts";
import type { Axis } from "./axis.ts";

/** The signed-in administrator. */
export type ConsoleVisitor = {
  id: string;
  email: string;
  displayName: string | null;
  role: ConsoleRole;
  /** Whether the sign-in is recent enough for a sensitive action. */
  isFresh: boolean;
  /** The deadline for a second factor; null if none is required or the person has one. */
  factorDueAt: string | null;
  counts: Record<"Apps" | "People" | "Tables", number>;
};
/** The content of a page, and its viewer. */
export type PageView<Content> = Content & { me: ConsoleVisitor };

export type ConsoleApp = {
  slug: string;
  createdAt: string;
  disabledAt: string | null;
  /** One of the app's origins. */
  origin: string | null;
  keys: number;
  tables: number;
  pushedAt: string | null;
};
export type AppView = RegisteredTargets & {
  slug: string;
  id: string;
  createdAt: string;
  disabledAt: string | null;
  /** Whether its changes are streamed; null where the preview is off. */
  isLive: boolean | null;
  /** Whether people with a role on it may list the others. */
  listsPeople: boolean;
  /** Requests that it may send; null: the default. */
  perMinute: number | null;
  /** Requests that each of its keys may send; null: as many as the app. */
  perMinuteOfKey: number | null;
  tables: string[];
  /** How many have a role on it. */
  people: number;
  pushedAt: string | null;
};

export type AppKey = ListedKey & {
  /** The key that replaced it in a rotation. */
  replacedBy: string | null;
};

type AppPageView = PageView<{
  app: AppView;
  /** Null where no span was asked for. */
  axis: Axis | null;
  keys: AppKey[];
}>;

/** An app, with its requests over a span if there is one. @throws {Problem} unknown_app */
export async function showConsoleApp(
  deps: ConsoleDeps,
  cookies: PresentedCookies,
  { slug, span }: { slug: string; span?: Span | undefined },
): Promise<AppPageView> {
  const values = { app_slug: slug, wanted_span: span ?? "" };
  const page = (await callConsole(deps, cookies, "console_show_app", values)) as AppPageView;
  const keys = page.keys.map((key) => ({ ...key, scopes: toScopes(key.scopes) }));
  return { ...page, keys };
}

function toScopes(given: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => given.includes(scope));
}

/** How far back numbers reach. */
export const SPANS = ["hour", "day", "week"] as const;
export type Span = (typeof SPANS)[number];

/** Requests within a span. */
export type Numbers = {
  requests: number;
  /** Responses with a status of 500 or above. */
  errors: number;
  /** Responses with a status from 400 to 499. */
  rejections: number;
  /** How many were in each bucket of `std/latency.ts`. */
  latencies: number[];
  /** The number of each step that has any, from 0, with what was counted in it. */
  counted: [step: number, requests: number, errors: number, rejections: number][];
};
