/** The content of Home: numbers of requests by app, and apps that need attention. @module */

import type { App } from "../apps/apps.ts";
import type { DevLeftovers } from "../people/people_lists.ts";
import type { Numbers } from "./apps.ts";
import type { Axis } from "./axis.ts";

export type ConsoleHome = {
  hasKeys: boolean;
  hasTables: boolean;
  appCount: number;
  /** Starts with the apps that need attention. */
  apps: (App & { numbers: Numbers })[];
  /** Requests without an app: pages, and requests that were rejected or failed before their key was checked. */
  withoutApp: Numbers;
  /** Requests of the Console: its pages, and its reads and writes of rows. */
  ofConsole: Numbers;
  /** The totals of all apps, of requests without an app, and of the Console. */
  axis: Axis;
  processes: {
    running: number;
    /** The oldest of the processes' last isolation checks. */
    isolationAt: string | null;
    issues: string[];
    /** Processes that no longer report, although no one stopped or replaced them. */
    silent: { role: string; seenAt: string }[];
  };
  /** Null in a database of `rowhouse dev`. */
  devLeftovers: DevLeftovers | null;
  lastPush: { app: string; at: string } | null;
  endingKeys: { app: string; keyId: string; name: string; expiresAt: string }[];
  builds: {
    app: string;
    table: string;
    kind: "index" | "reference";
    name: string;
    state: string;
  }[];
};
