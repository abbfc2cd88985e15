/** What keeps one stolen login from using up what others need: connections, disk, locks. @module */
import { quoteName } from "../db/mod.ts";
import type { Finding } from "./finding.ts";
import type { Login } from "./logins.ts";

/** Warnings about a login without limits; a superuser has none anyway, and is a finding by itself. */
export function judgeLoginLimits(found: Login): Finding[] {
  if (found.isSuperuser) return [];
  return [judgeConnectionLimit(found), judgeTemporaryFiles(found)].filter(
    (finding) => finding !== undefined,
  );
}

function judgeConnectionLimit({ login, connectionLimit }: Login): Finding | undefined {
  if (connectionLimit >= 0) return undefined;
  return {
    about: "connection limit",
    level: "warn",
    says: `${login} can use all connections of PostgreSQL`,
    remedy: `alter role ${quoteName(login)} connection limit 30, or twice the connections that its processes open`,
  };
}

/** Only of logins that own no table: a login that pushes builds indexes, for which it sorts whole tables. */
function judgeTemporaryFiles({ login, memberOf, tempFileLimitKb }: Login): Finding | undefined {
  if (tempFileLimitKb >= 0 || memberOf.includes("rowhouse_tables")) return undefined;
  return {
    about: "temporary files",
    level: "warn",
    says: `of ${login} can fill the disk`,
    remedy:
      "as a superuser, grant set on parameter temp_file_limit to the administrator, then run rowhouse migrate",
  };
}

const OPEN = {
  locks: "acquire advisory locks, which block pushes",
  files: "create large objects, which fill the disk",
} as const;

/** What PostgreSQL lets every login do until a superuser revokes it. */
export function judgeOpenFunctions(open: readonly (keyof typeof OPEN)[]): Finding {
  const about = "every login";
  if (open.length === 0)
    return {
      about,
      level: "ok",
      says: "can neither block others with advisory locks nor fill the disk with large objects",
    };
  return {
    about,
    level: "warn",
    says: `can ${open.map((kind) => OPEN[kind]).join(", and ")}`,
    remedy: "run deploy/superuser.sql as a superuser in this database: see docs/operating.md",
  };
}
