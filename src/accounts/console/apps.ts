/** The signed-in administrator, and the apps on the Console's pages. @module */
import type { SwitchStates } from "../../app_switch.ts";
import type { Preview } from "../../preview.ts";
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
export type PageView<Content> = Content & { me: ConsoleVisitor };

export type AppView = RegisteredTargets & {
  slug: string;
  id: string;
  createdAt: string;
  disabledAt: string | null;
  switches: SwitchStates;
  /** The previews of the service. */
  previews: Preview[];
  /** Max requests a minute; null for the default. */
  perMinute: number | null;
  /** Max requests a minute of each key; null for the limit of the app. */
  perMinuteOfKey: number | null;
  tables: string[];
  /** The number of people with a role on the app. */
  people: number;
  pushedAt: string | null;
};

export type AppContent = {
  app: AppView;
  /** Null without a requested span. */
  axis: Axis | null;
  keys: ListedKey[];
};

/** The spans of time that numbers cover. */
export const SPANS = ["hour", "day", "week"] as const;
export type Span = (typeof SPANS)[number];

/** Requests within a span. */
export type Numbers = {
  requests: number;
  /** Responses with a status of 500 or above. */
  errors: number;
  /** Responses with a status from 400 to 499. */
  rejections: number;
  /** The number of requests in each bucket of `std/latency.ts`. */
  latencies: number[];
  /** Each step with requests: its index, and its counts. */
  counted: [step: number, requests: number, errors: number, rejections: number][];
};
