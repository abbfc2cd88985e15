/** `rowhouse admin move-app`: an app's rows to another node of a Citus cluster. @module */
import { moveApp } from "../../accounts/apps/mod.ts";
import { UsageError } from "../cli/command.ts";
import { checkIsolation } from "../cli/database.ts";
import { type AdminTask, makeAdminCommand } from "./task.ts";

const moveAppTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
  const to = args.text("to");
  if (to === undefined)
    throw new UsageError("Cannot move an app to no node: give --to <host:port>");
  await checkIsolation(deps.admin);
  const { from, isIsolated } = await moveApp(deps, { slug, to });
  const alone = isIsolated ? ", on a shard of its own: it shared one with other apps" : "";
  return {
    document: { app: slug, from, to, isIsolated },
    lines: [`App ${slug} is on ${to} now; before, it was on ${from}${alone}`],
  };
};

export const adminMoveAppCommands = [
  makeAdminCommand(
    {
      name: "admin move-app",
      example: "rowhouse admin move-app wiki --to 10.0.0.3:5432",
      about: `Its rows, the proofs of its keys and what its writes were answered; alone: an app that shares its shard with others is
given its own first, for which these are held up, too. Writes wait while the rows are copied, reads go on. Needs a
superuser. If it fails, the same command goes on from there. Prints { app, from, to, isIsolated } with --json.`,
      positionals: ["slug"],
      flags: {
        to: { value: "host:port", about: "the node, as select * from citus_nodes names it" },
      },
    },
    moveAppTask,
  ),
];
