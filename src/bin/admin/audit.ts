/** `rowhouse admin audit`: shows the audit log, newest first. @module */
import { listAudit } from "../../accounts/actions/mod.ts";
import { readWhole } from "../cli/settings.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const DEFAULT_LIMIT = "50";
const MAX_LIMIT = 10_000;

const auditTask: AdminTask = async (deps, args) => {
  const text = args.text("limit") ?? DEFAULT_LIMIT;
  const entries = await listAudit(deps, readWhole("--limit", text, [1, MAX_LIMIT]));
  const lines = entries.map(({ at, actor, action, email, userId, app, details }) =>
    [at, actor, action, email ?? userId ?? "", app ?? "", toText(details)]
      .filter((part) => part !== "")
      .join("  "),
  );
  return {
    document: { entries },
    lines: lines.length === 0 ? ["The audit log is empty"] : lines,
  };
};

export const adminAuditCommands = makeAdminCommands({
  audit: {
    example: "rowhouse admin audit --limit 200 --json",
    about: `No command and no login can change an entry. AUDIT_RETENTION sets when old entries are deleted. The actor is a user id,
operator (this command line), sign-in (by a provider) or browser (a browser with several live sessions). Prints
{ entries: [{ id, at, actor, action, userId, email, app, client, details }] } with --json; client is an address.`,
    flags: { limit: { value: "count", about: `1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}` } },
    task: auditTask,
  },
});

function toText(details: Readonly<Record<string, unknown>>): string {
  return Object.keys(details).length === 0 ? "" : JSON.stringify(details);
}
