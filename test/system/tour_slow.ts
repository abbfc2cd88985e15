/** Every route, action and command once, on the server and in the shape of the run. */
import { afterAll, expect, test } from "bun:test";
import { FUNCTIONS } from "../../src/db/functions.ts";
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";
import { findMisfitsOf, findUnrun, tourCommands } from "../support/tour/commands.ts";
import { findUnvisited, openToured, tour } from "../support/tour/mod.ts";

/** Functions that a correct request or command does not call, by the reason. A new function belongs into the tour. */
const ELSEWHERE: Readonly<Record<string, string[]>> = {
  "a push of a large table (test/tables/deferred_test.ts)": [
    ...["claim_build", "renew_deferred_step", "end_deferred_step", "find_index"],
  ],
  "other work of pushes (test/tables/)": [
    "read_generated",
    ...["read_built_indexes", "defer_rebuilds", "drop_changed_former"],
    "list_table_apps",
    "find_unused_sets",
    "check_drop_key",
    "check_rules_key",
  ],
  "an action that fails (test/cli/, test/console/)": [...["cancel_rows_job", "find_app_id"]],
  "processes apart, and limits (test/gateway/, test/data/)": [
    ...["lease_tokens", "lease_unindexed", "use_nonces", "sweep_nonces"],
  ],
  "doctor, dev and the front page (test/service/)": [
    ...["count_claimed_roles", "count_identity_values", "count_users", "has_administrator"],
    ...["mail_state", "add_origin", "find_large_apps"],
  ],
  "rare states of people (test/identity/)": ["accept_by_provider", "renew_address"],
  "keys of people (test/data/)": ["prove_key"],
  "processes before 0.2.0 (test/upgrade/)": ["had_filters"],
  "writes by a unique constraint (test/data/)": ["update_keyed_rows", "upsert_rows"],
  "conditions that no index serves (test/data/)": ["find_rows"],
  "migrate of tables (test/data/listeners_test.ts)": ["read_listeners"],
  "what migrate has compared (test/service/verified_functions_test.ts)": [
    ...["read_generated_tables", "record_verified", "forget_former_digests"],
  ],
  "a gateway of 0.1.0 (test/system/security/)": ["read_key_person"],
  "PostgreSQL counts no function that it inlines": ["read_me", "read_people"],
};

await setOnServer("set track_functions = 'all'");
const toured = await openToured();
afterAll(async () => {
  await toured.close();
  await setOnServer("reset track_functions");
});

async function setOnServer(change: string): Promise<void> {
  await withDatabase(clusterUrls()?.admin ?? "", async (admin) => {
    await admin.message(`alter system ${change}`);
    await admin.message("select pg_catalog.pg_reload_conf()");
  });
}

test("every route responds to a correct request", async () => {
  const responses = await tour(toured);
  expect(responses.filter(({ status }) => status >= 400).map(({ text }) => text)).toEqual([]);
  expect(findUnvisited(toured)).toEqual([]);
});

test("every command of an operator succeeds, and its JSON has the types in its help", async () => {
  const ran = await tourCommands(toured.service);
  expect(ran.filter(({ outcome }) => outcome.code !== 0)).toEqual([]);
  expect(findUnrun(ran)).toEqual([]);
  expect(await findMisfitsOf(ran)).toEqual([]);
});

test("routes and commands have called every function of the database", async () => {
  const called = await withDatabase(toured.service.database.adminUrl, readCalled);
  const elsewhere = Object.values(ELSEWHERE).flat();
  const never = Object.keys(FUNCTIONS).filter((name) => !called.has(name));
  expect(never.filter((name) => !elsewhere.includes(name))).toEqual([]);
});

/** Returns the names of the functions that sessions of this database have called. Ends the sessions, which report at their end. */
async function readCalled(admin: Database): Promise<Set<string>> {
  await admin.message(`select pg_catalog.pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and pid <> pg_catalog.pg_backend_pid()`);
  const rows = await readRows<{ name: string }>(
    admin,
    "select funcname as name from pg_catalog.pg_stat_user_functions where schemaname = 'rowhouse'",
  );
  return new Set(rows.map(({ name }) => name));
}
