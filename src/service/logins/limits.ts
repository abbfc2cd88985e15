/** Checks the limits that keep a stolen login from exhausting connections, disk or locks. @module */
import { quoteName } from "../../std/quote.ts";
import { type CheckResult, pass, warn } from "../check_result.ts";
import type { Login } from "./rights.ts";

/** Warnings about a login without limits. A superuser never has limits, and gets a separate warning. */
export function evaluateLoginLimits(found: Login): CheckResult[] {
  if (found.isSuperuser) return [];
  return [evaluateConnectionLimit(found), evaluateTemporaryFiles(found)].filter(
    (result) => result !== undefined,
  );
}

function evaluateConnectionLimit({ login, connectionLimit }: Login): CheckResult | undefined {
  if (connectionLimit >= 0) return undefined;
  return warn("connection limit", {
    message: `${login} can use all connections of PostgreSQL`,
    remedy: `alter role ${quoteName(login)} connection limit 30, or twice the connections that its processes open`,
  });
}

/** Skips logins that push: they sort whole tables to build indexes. */
function evaluateTemporaryFiles({
  login,
  memberOf,
  tempFileLimitKb,
}: Login): CheckResult | undefined {
  if (tempFileLimitKb >= 0 || memberOf.includes("rowhouse_tables")) return undefined;
  return warn("temporary files", {
    message: `of ${login} can fill the disk`,
    remedy:
      "as a superuser, grant set on parameter temp_file_limit to the administrator, then run rowhouse migrate",
  });
}

const OPEN = {
  locks: "acquire advisory locks, which block pushes",
  files: "create large objects, which fill the disk",
} as const;

/** Rights that PostgreSQL gives to every login until a superuser revokes them. */
export function evaluateOpenFunctions(open: readonly (keyof typeof OPEN)[]): CheckResult {
  const about = "every login";
  if (open.length === 0)
    return pass(
      about,
      "can neither block others with advisory locks nor fill the disk with large objects",
    );
  return warn(about, {
    message: `can ${open.map((kind) => OPEN[kind]).join(", and ")}`,
    remedy: "run deploy/superuser.sql as a superuser in this database: see docs/install.md",
  });
}
