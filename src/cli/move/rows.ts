/** The rows of a move: their plan, their progress, and their comparison in both databases. @module */

import {
  type Copying,
  type MovedDatabases,
  type ServicePlan,
  type Summary,
  summarize,
} from "../../db/mod.ts";
import { showCount } from "../../std/count.ts";
import { type AppTablesPlan, toCopyings } from "../../tables/mod.ts";
import { RejectedError } from "../command.ts";

export type Plan = { service: ServicePlan; apps: AppTablesPlan };
/** Both databases: with the administrator for the service's rows, and with logins that can only push for apps' rows. */
export type Connections = { service: MovedDatabases; apps: MovedDatabases };

export type TableCount = { name: string; rows: number };

const PROGRESS_ROWS = 100_000;

export function makeProgress(
  report: (line: string) => void,
): (copying: Copying, count: number) => void {
  const rows = new Map<string, number>();
  return (copying, count) => {
    const before = rows.get(copying.table) ?? 0;
    rows.set(copying.table, before + count);
    if (Math.floor((before + count) / PROGRESS_ROWS) > Math.floor(before / PROGRESS_ROWS))
      report(`${show(copying)}: moved ${showCount(before + count, "row")}`);
  };
}

export async function countRows(connections: Connections, plan: Plan): Promise<TableCount[]> {
  return await eachTable(connections, plan, async ({ source }, copying) =>
    Number((await summarize(source, copying, "source")).rows),
  );
}

/** @throws {RejectedError} a row differs: the old database was changed during the move */
export async function compareRows(connections: Connections, plan: Plan): Promise<TableCount[]> {
  const isSame = (one: Summary, other: Summary) =>
    one.rows === other.rows && one.digest === other.digest;
  return await eachTable(connections, plan, async ({ source, target }, copying) => {
    const old = await summarize(source, copying, "source");
    if (!isSame(old, await summarize(target, copying, "target")))
      throw new RejectedError(
        `${show(copying)} was changed in the old database during the move: stop every process that uses it, and run the command again`,
      );
    return Number(old.rows);
  });
}

async function eachTable(
  { service, apps }: Connections,
  plan: Plan,
  count: (databases: MovedDatabases, copying: Copying) => Promise<number>,
): Promise<TableCount[]> {
  const rows = new Map<string, number>();
  const add = async (databases: MovedDatabases, copying: Copying) => {
    const counted = await count(databases, copying);
    rows.set(show(copying), (rows.get(show(copying)) ?? 0) + counted);
  };
  for (const copying of plan.service.copyings) await add(service, copying);
  for (const copying of toCopyings(plan.apps)) await add(apps, copying);
  return [...rows].map(([name, counted]) => ({ name, rows: counted }));
}

/** The name of a table for people. */
function show({ table }: Copying): string {
  return table.replaceAll('"', "");
}
