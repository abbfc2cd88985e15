/** Counts of requests for the pages that draw them. @module */
import { ALL_APPS } from "../../src/db/mod.ts";
import type { TestService } from "./service.ts";

/** Stores eight steps of requests, errors and rejections for each app, for the Console and for all apps. */
export async function countRequests({ service }: TestService): Promise<void> {
  await service.admin.message(`
    insert into rowhouse.statistics
      select app, span, date_bin('1 minute', now(), 'epoch') - n * interval '7 minutes', 900000 * n, n % 2, 111000 * n, array_fill(n, array[12])
      from (select id from rowhouse.apps union all select '${ALL_APPS}') as apps (app), unnest(array['minute', 'hour']) as span,
        generate_series(1, 8) as n
      on conflict do nothing;
    select 1`);
}
