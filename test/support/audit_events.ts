/** The audit entries of a person. @module */
import { readRows } from "../../src/db/mod.ts";
import type { TestService } from "./service.ts";

/** Returns each entry's action with its provider, method and reason, oldest first. */
export async function listEvents(
  { service }: Pick<TestService, "service">,
  userId: string,
): Promise<string[]> {
  const rows = await readRows<{ event: string }>(
    service.admin,
    `select concat_ws(' ', action, details ->> 'provider', details ->> 'method', details ->> 'reason') as event
    from rowhouse.audit where user_id = $1 order by id`,
    [userId],
  );
  return rows.map(({ event }) => event);
}
