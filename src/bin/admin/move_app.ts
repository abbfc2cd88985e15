/** `rowhouse admin move-app`: moves an app's rows to another node of a Citus cluster. @module */
import { flag, text } from "../../accounts/actions/mod.ts";
import { moveApp } from "../../accounts/apps/mod.ts";
import { UsageError } from "../cli/command.ts";
import { checkIsolation } from "../cli/database.ts";
import { command, typed } from "./command.ts";
import { makeAdminCommands } from "./task.ts";

export const adminMoveAppCommands = makeAdminCommands({
  "move-app": command("moves an app to another node of a Citus cluster", {
    example: "rowhouse admin move-app wiki --to 10.0.0.3:5432",
    about: `Moves the app's rows, the proofs of its keys and its stored idempotent responses. An app that shares a shard first gets its
own shard; writes of the other apps on the shard wait too. Writes wait while rows are copied; reads continue. The wait grows
with the number of tables in the database, up to 0.3 s each: the move is rejected if writes could wait longer than 30 s, unless
--accept-timeouts is set. Requires a superuser. If it fails, repeat the command to continue.`,
    args: { slug: typed },
    flags: {
      to: { value: "host:port", about: "the node, as listed in citus_nodes" },
      "accept-timeouts": {
        about: "moves the app even if writes can wait longer than 30 s and fail",
      },
    },
    json: { app: text(), from: text(), to: text(), isIsolated: flag() },
    run: async (deps, { slug, to, "accept-timeouts": acceptsTimeouts }) => {
      if (to === undefined) throw new UsageError("Missing node: add --to <host:port>");
      await checkIsolation(deps.admin);
      const { from, isIsolated } = await moveApp(deps, { slug, to, acceptsTimeouts });
      const isolation = isIsolated ? "; it no longer shares a shard with other apps" : "";
      return {
        document: { app: slug, from, to, isIsolated },
        lines: [`Moved app ${slug} from ${from} to ${to}${isolation}`],
      };
    },
  }),
});
