/** `rowhouse admin audit`: shows the audit log, newest first. @module */
import { auditList } from "../../records/actions/mod.ts";
import { makeListCommand } from "./command.ts";
import { makeAdminCommands } from "./task.ts";

export const adminAuditCommands = makeAdminCommands({
  audit: makeListCommand(auditList, {
    summary: "shows the audit log, newest first",
    example: "rowhouse admin audit --limit 200 --json",
    about: `No command and no login can change an entry. AUDIT_RETENTION sets when old entries are deleted. The actor is a user id,
operator (this command line), sign-in (by a provider) or browser (a browser with several live sessions). The client is an address.`,
    limit: 50,
    lines: {
      email: ({ email, userId }) => email ?? userId ?? "",
      details: ({ details }) => (details === "{}" ? "" : details),
    },
    none: () => "The audit log is empty",
  }),
});
