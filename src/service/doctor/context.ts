/** What the doctor's checks get: settings, connections, and the facts that earlier checks found. Pure. @module */

import type { Database, makeNodeMap } from "../../db/mod.ts";
import type { Audience } from "../../gateway/mod.ts";
import type { ProviderSettings } from "../../identity/mod.ts";
import type { MailSettings } from "../../mail/mod.ts";
import type { Preview } from "../../preview.ts";
import type { CheckResult } from "../check_result.ts";
import type { Login } from "../logins/rights.ts";
import type { DatabaseVariable } from "../unavailable.ts";
import type { Connections } from "./checks.ts";
import type { Session } from "./session.ts";

/** The settings of the checked process, and the connections of those that are set. */
export type DoctorContext = {
  /** All errors of the settings; the other fields are from the valid ones. */
  settingIssues: readonly string[];
  /** The settings that lost a part of their text in a `.env` file. */
  lostText?: readonly { variable: string; file: string }[];
  /** The settings of an earlier release that have no effect. */
  removedSettings?: readonly { variable: string; constant: string; remedy: string }[];
  /** Secrets of a gateway, which it shares with two services. */
  sharedSecrets?: Readonly<Record<Audience, readonly string[]>> | undefined;
  trustedProxies: readonly string[];
  /** The connections of DATABASE_URL. */
  db?: Database | undefined;
  databaseUrl?: string | undefined;
  /** The connections of ADMIN_DATABASE_URL, or else of DATABASE_URL. */
  admin?: Database | undefined;
  adminUrl?: string | undefined;
  adminVariable: "DATABASE_URL" | "ADMIN_DATABASE_URL";
  /** The connections of the separate login for identity, if there is one. */
  identityDb?: Database | undefined;
  /** The connections of the Console's login. */
  consoleDb?: Database | undefined;
  prepare: boolean;
  /** Whether one process runs all parts; it should have a separate login for identity. */
  isWhole: boolean;
  /** Whether the checked process pushes. */
  pushes: boolean;
  /** Whether the settings are those of an operator's commands, for which ADMIN_DATABASE_URL can be an administrator. */
  isOperator: boolean;
  /** Set if the checked process serves sign-in. */
  identitySecrets?: readonly string[] | undefined;
  cookieDomain?: string | undefined;
  providers: readonly ProviderSettings[];
  mail?: MailSettings | undefined;
  /** The value of PREVIEW, if it is valid. */
  previews?: readonly Preview[] | undefined;
  /** The connection string for calls straight to the nodes of a database with several, if processes send them. */
  nodesUrl?: string | undefined;
  /** Connections that all processes of the service open. */
  connections?: Connections | undefined;
  now: () => number;
};

/** Facts that checks find for later checks. Absent if the check failed or did not run. */
type Found = {
  /** The serving login's session, and the time of this machine when the database read its clock. */
  session?: Session & { nowMs: number };
  login?: Login;
  /** Set if DATABASE_URL connects without a pooler. */
  direct?: true;
  /** Connections for checks of the database: `admin`, if it responds. */
  checking?: Database;
  /** The serving login's connections if they respond, otherwise those of `checking`. */
  serving?: Database;
  /** Set if this release's migrations are all applied. */
  migrated?: true;
  nodes?: ReturnType<typeof makeNodeMap>;
  /** The connections of the login that reads people. */
  people?: Database;
};
export type Known = DoctorContext & Found;
export type Results = CheckResult | CheckResult[];

export type Check = {
  about: string;
  /** Without one of these, the check does not run: it is not set, or an earlier check reports why it is missing. */
  needs: readonly (keyof Known)[];
  /** The variable with the connection string that the check uses. */
  variable: (known: Known) => DatabaseVariable | undefined;
  run: (known: Known) => Results | Promise<Results>;
};

/** A check whose `run` has what it needs. */
export function check<Need extends keyof Known = never>(
  about: string,
  needs: readonly Need[],
  run: (
    known: Known & { [Name in Need]-?: NonNullable<Known[Name]> },
  ) => Results | Promise<Results>,
  variable: Check["variable"] = ({ adminVariable }) => adminVariable,
): Check {
  // Only runChecks() calls it, with all needs.
  return { about, needs, variable, run: run as Check["run"] };
}
