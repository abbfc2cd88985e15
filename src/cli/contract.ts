/** `rowhouse migrate --contract`: the second step of an upgrade, after which earlier releases cannot use the database. @module */

import { CONTRACTED_FROM, contract, planContract } from "../db/mod.ts";
import type { Config } from "../settings/mod.ts";
import { fitReaders, listFormer, removeFormer } from "../tables/mod.ts";
import type { CommandResult, Setting } from "./command.ts";
import { withDatabase, withPushDatabase } from "./database.ts";
import type { Address } from "./settings.ts";
import { confirm } from "./terminal.ts";

export async function runContract(
  { args, terminal }: Setting,
  address: Address,
  config: Config,
): Promise<CommandResult> {
  const planned = await withDatabase(address, config, async (admin) => [
    ...(await planContract(admin)),
    ...(await listFormer(admin)),
  ]);
  const isDry = args.has("dry-run");
  if (isDry || planned.length === 0)
    return {
      document: { [isDry ? "removals" : "removed"]: planned },
      lines: planned.length === 0 ? ["Nothing to do"] : planned.map((what) => `Removes: ${what}`),
    };
  await confirm(terminal, args.has("yes"), {
    message: `Removes what only releases before ${CONTRACTED_FROM} need: they cannot use this database again, and the only way back to them is a backup.`,
  });
  const print = args.has("json") ? () => undefined : terminal.print;
  const removed = await withDatabase(address, config, async (admin) => {
    const ended = await contract(admin, print);
    // The tables of a cluster get it after the last process of 0.1.
    await fitReaders(admin, ({ name }) =>
      print(`Added the policy of rowhouse_reader to table ${name}`),
    );
    const former = await withPushDatabase({ admin, address, config }, (pushing) =>
      removeFormer(pushing, print),
    );
    return [...ended, ...former];
  });
  return { document: { removed }, lines: ["The upgrade is finished"] };
}
