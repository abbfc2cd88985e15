/**
 * Errors, each with the test that must find it: a text of the source that occurs once, and the text that replaces it. Most are
 * faults that were once fixed. `bun run planted` plants them.
 *
 * @module
 */

export type PlantedError = {
  /** The error, as a reader of a report understands it. */
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. Without it, the error is a new file. */
  readonly text?: string;
  readonly error: string;
  /** The file of tests that finds it. */
  readonly test: string;
  /** The server of the test; default: the embedded PostgreSQL 18. */
  readonly server?: "PostgreSQL 15";
};

const SESSION_STATE = "test/system/session_state_slow.ts";
const TOUR = "test/system/tour_slow.ts";
const PAGES = "test/browser/pages_browser.ts";
const FROZEN = "test/upgrade/frozen_slow.ts";

export const ERRORS: readonly PlantedError[] = [
  // What only a suite outside `check` can find, or a reduced form of it.
  {
    name: "a statement of the service sets state of its session",
    file: "src/tables/plan/retype_messages.ts",
    text: "set local statement_timeout",
    error: "set statement_timeout",
    test: SESSION_STATE,
  },
  {
    name: "statements are prepared by name through PgBouncer",
    file: "src/service/databases.ts",
    text: 'const { prepare, role = "all" } = options;',
    error: 'const { prepare, role } = { role: "all" as const, ...options, prepare: true };',
    test: SESSION_STATE,
  },
  {
    name: "an action calls a function of PostgreSQL 18",
    file: "src/db/code/apps/apps.sql",
    text: "  select id into app from rowhouse.apps where slug = app_slug for key share;",
    error:
      "  perform uuidv7();\n  select id into app from rowhouse.apps where slug = app_slug for key share;",
    test: TOUR,
    server: "PostgreSQL 15",
  },
  {
    name: "a login lacks the right to call a function",
    file: "src/db/code/apps/history.sql",
    text: "grant execute on function rowhouse.sweep_history to rowhouse_service, rowhouse_data;",
    error: "grant execute on function rowhouse.sweep_history to rowhouse_service;",
    test: "test/db/grants_test.ts",
  },
  {
    name: "a key without schema:drop makes numbers of texts, which loses their form",
    file: "src/kinds/string.ts",
    text: 'reversible: ["enum", "json", "boolean"],',
    error: 'reversible: ["number", "enum", "json", "boolean"],',
    test: "test/kinds/conversions_slow.ts",
  },
  {
    name: "the tour misses a route",
    file: "src/identity/page_routes.ts",
    text: "  sessionKeyRoute,\n  ...assetRoutes,",
    error:
      '  { method: "GET", path: "/planted", access: "open", handle: () => redirect(PATHS.login) },\n  sessionKeyRoute,\n  ...assetRoutes,',
    test: TOUR,
  },
  {
    name: "the tour misses a function",
    file: TOUR,
    text: '["accept_by_provider", "renew_address"]',
    error: '["renew_address"]',
    test: TOUR,
  },
  {
    name: "PostgreSQL 15 reads a whole table",
    file: "src/db/code/tables/calls.sql",
    text: "'off', true),\n    pg_catalog.set_config('jit', 'off', true);\n  perform from",
    error: "'on', true),\n    pg_catalog.set_config('jit', 'off', true);\n  perform from",
    test: "test/tables/plans_test.ts",
    server: "PostgreSQL 15",
  },
  {
    name: "a service serves a route without the gateway's signature",
    file: "src/gateway/receive.ts",
    text: 'if (target.path === "/live") return',
    error: 'if (target.path === "/live" || target.path === "/v1/auth/me") return',
    test: "test/gateway/unsigned_test.ts",
  },
  {
    name: "a field has no label",
    file: "src/pages/form.tsx",
    text: "      <label for={name}>{field.label}</label>",
    error: "      {field.label}",
    test: PAGES,
  },
  {
    name: "a page is too wide for a phone",
    file: "src/pages/style.css",
    text: "  max-width: 26rem;",
    error: "  min-width: 30rem;",
    test: PAGES,
  },
  {
    name: "a text has no contrast in the dark theme",
    file: "src/pages/style.css",
    text: "--quiet: light-dark(#56616e, #a9b3bf);",
    error: "--quiet: light-dark(#56616e, #3a4450);",
    test: "test/browser/docs_browser.ts",
  },
  {
    name: "a push applies a plan for an earlier state of its tables",
    file: "src/db/code/tables/pushes.sql",
    text: "      where seen.stamp::bigint <> greatest(",
    error: "      where false and seen.stamp::bigint <> greatest(",
    test: "test/tables/change_race_slow.ts",
  },
  {
    name: "a migration changes a row",
    file: "src/db/migrations/9999_planted.sql",
    error: "-- Planted.\n\nupdate rowhouse.users set display_name = 'planted';\n",
    test: FROZEN,
  },
  {
    name: "a login may not call a function that the previous release calls",
    file: "src/db/code/kept/calls.sql",
    text: "grant execute on function rowhouse.read_key_person to rowhouse_service, rowhouse_data;",
    error: "",
    test: FROZEN,
  },
  {
    name: "a thread of pushes works for a process of another version",
    file: "src/tables/work_worker.ts",
    text: "    if (version !== VERSION) throw busy();\n",
    error: "",
    test: "test/tables/work_worker_test.ts",
  },
  {
    name: "a push does not wait for the processes of an earlier release",
    file: "src/db/code/tables/pushes.sql",
    text: "if exists (select from rowhouse.earlier_processes() where is_running) then",
    error: "if false then",
    test: "test/cli/contract_test.ts",
  },
  {
    name: "a quotation mark that begins a value of seven characters is lost in a CSV",
    file: "src/std/csv.ts",
    text: "value.replaceAll('\"', '\"\"')",
    error: "value.replace(/^\"(?=.{6}$)/, '').replaceAll('\"', '\"\"')",
    test: "src/rows/read_rows_test.ts",
  },

  // Faults of 0.1.0.
  {
    name: "an IPv6 address of a client has several spellings",
    file: "src/std/client_network.ts",
    text: "  return new URL(",
    error: "  if (isIPv6(address)) return address;\n  return new URL(",
    test: "src/gateway/client_address_test.ts",
  },
  {
    name: "an update of many rows accepts unknown fields alone",
    file: "src/data/write_where.ts",
    text: "issues: explainUnknown(unknown, definition)",
    error: "issues: []",
    test: "test/data/update_where_test.ts",
  },
  {
    name: "a restore compares JSON as JavaScript numbers",
    file: "src/console/rows/history_plan.ts",
    text: "    isJson ? compactJson(text) : canonicalJson(JSON.parse(text)),",
    error: "    isJson && compactJson(text) === text ? text : canonicalJson(JSON.parse(text)),",
    test: "test/console/history_test.ts",
  },
  {
    name: "a restore takes stored JSON with other digits for the same",
    file: "src/console/rows/history_plan.ts",
    text: "    isJson ? compactJson(text) : canonicalJson(JSON.parse(text)),",
    error: '    isJson && text === "" ? text : canonicalJson(JSON.parse(text)),',
    test: "test/console/history_test.ts",
  },
  {
    name: "forged cookies take all turns of a visitor",
    file: "src/gateway/forward.ts",
    text: '? { name: "with a session" } : undefined',
    error: "? undefined : undefined",
    test: "test/gateway/outgoing_test.ts",
  },
  {
    name: "one function takes the whole queue of the service",
    file: "src/db/call.ts",
    text: "queue === SERVICE_QUEUE ? { name } : undefined",
    error: 'queue === "" ? { name } : undefined',
    test: "test/db/call_test.ts",
  },
  {
    name: "the end of a key has another day with another DateStyle",
    file: "src/db/call.ts",
    text: 'type.includes("[]") || type.startsWith("timestamptz")',
    error: 'type.includes("[]")',
    test: "test/system/database_settings_test.ts",
  },
  {
    name: "the guard compares names that quote_all_identifiers changes",
    file: "src/db/code/service/isolation.sql",
    text: " set quote_all_identifiers = off as",
    error: " as",
    test: "test/system/database_settings_test.ts",
  },
  {
    name: "a restore of stored JSON loses digits",
    file: "src/console/rows/history_restore.tsx",
    text: "headers: { prefer: SENT_IDS_PREFERENCE },",
    error: 'headers: method === "POST" ? { prefer: SENT_IDS_PREFERENCE } : {},',
    test: "test/console/history_test.ts",
  },
  {
    name: "an archive of a table named constructor cannot be imported",
    file: "src/archive/file.ts",
    text: "anyNames(v.object({ rows: v.number(), sha256: v.string() }))",
    error: "v.record(v.string(), v.object({ rows: v.number(), sha256: v.string() }))",
    test: "test/cli/admin_archive_test.ts",
  },
  {
    name: "a push lists half a million unknown fields",
    file: "src/tables/issues.ts",
    text: "const MAX_UNKNOWN = 200;",
    error: "const MAX_UNKNOWN = 1_000_000;",
    test: "src/tables/bodies_test.ts",
  },
  {
    name: "a migration declares what its change drops",
    file: "src/tables/plan/prepare.ts",
    text: "if (dropped !== undefined && declares(definition, change))",
    error: "if (dropped === null && declares(definition, change))",
    test: "test/tables/rules_scope_test.ts",
  },
  {
    name: "a key widens rules without the scope schema:rules",
    file: "src/tables/push_key.ts",
    text: '  if (!allows(by.scopes, "schema:rules"))',
    error: '  if (!allows(by.scopes, "schema:push"))',
    test: "test/tables/rules_scope_test.ts",
  },
  {
    name: "a person's large body counts as one request",
    file: "src/gateway/rate_limits.ts",
    text: "principal.person === undefined ? 0 : countMore(request)",
    error: "principal.person === undefined ? 0 : Math.min(0, countMore(request))",
    test: "test/gateway/person_keys_test.ts",
  },
  {
    name: "dev drops rows without an answer",
    file: "src/cli/db/dev_tables.ts",
    text: "if (open.length > 0) throw",
    error: "if (open.length < 0) throw",
    test: "test/cli/dev_tables_slow.ts",
  },
  {
    name: "dev drops rows before they are in a file",
    file: "src/cli/db/dev_tables.ts",
    text: "task.print(await keepRows(place, table, { columns, dropped }));",
    error: "",
    test: "test/cli/dev_tables_slow.ts",
  },
  {
    name: "dev removes the rules while a decision is open",
    file: "src/cli/db/dev_tables.ts",
    text: "await following.restoreRules?.()",
    error: "await Promise.resolve()",
    test: "test/cli/dev_tables_slow.ts",
  },
  {
    name: "dev repeats a push that waits for an answer because of its own changes",
    file: "src/cli/dev/push.ts",
    text: "heldAt = checksum;",
    error: "",
    test: "test/cli/dev_slow.ts",
  },
  {
    name: "dev fails at a malformed Host header",
    file: "src/cli/dev/explain_forbidden.ts",
    text: "splitTarget(request.url).path",
    error: "new URL(request.url).pathname",
    test: "test/cli/dev_explained_test.ts",
  },
  {
    name: "a list in the order of an optional column lacks the rows without a value",
    file: "src/data/query/page_parts.ts",
    text: "if (!hasNulls) return [valued];",
    error: "if (column.name !== ID.name) return [valued];",
    test: "test/data/query_test.ts",
  },
  {
    name: "a person's key is served without the preview browser",
    file: "src/service/fetch.ts",
    text: 'if (principal.person !== undefined && !isOn(deps, "browser")) throw keyRejected();',
    error: "",
    test: "test/data/person_rows_test.ts",
  },
  {
    name: "good passwords are rejected as common by chance",
    file: "src/identity/passwords/known_passwords.ts",
    text: "export const DIGEST_BITS = 45;",
    error: "export const DIGEST_BITS = 32;",
    test: "test/identity/password_test.ts",
  },
  {
    name: 'the filter "is not" finds no empty cells',
    file: "src/pages/scripts/search/state.ts",
    text: 'operator === "neq" && known?.required === false',
    error: 'operator === "neq" && known === null',
    test: "src/pages/scripts/search/state_test.ts",
  },
  {
    name: "a claim below null takes roles away",
    file: "src/identity/oidc/person.ts",
    text: '    if (typeof found !== "object" || found === null || Array.isArray(found))',
    error:
      '    if (found === null && depth > 0) return { found: undefined };\n    if (typeof found !== "object" || found === null || Array.isArray(found))',
    test: "test/identity/oidc_roles_test.ts",
  },
  {
    name: "a denied write names one field of several",
    file: "src/data/denied_values.ts",
    text: "return [...new Set(names)].map(",
    error: "return [...new Set(names)].slice(0, 1).map(",
    test: "test/data/person_attacks_rows_test.ts",
  },
  {
    name: "a person updates rows of a team that the person has left",
    file: "src/db/code/tables/writes.sql",
    text: "  if cardinality(locked.held) < cardinality(ids) or terms ->> 'read' <> 'true'",
    error: "  if cardinality(locked.held) < cardinality(ids)",
    test: "test/data/claim_rows_test.ts",
  },
  {
    name: "two workers claim the same row",
    file: "src/db/code/tables/writes.sql",
    text: "  ids := (find.page(app, person, terms, rule, plan, filled, cardinality(held), held)).ids;",
    error: "  ids := held;",
    test: "test/data/claim_rows_test.ts",
  },
  {
    name: "a stop waits for idle sockets",
    file: "src/service/listen.ts",
    text: "await Promise.race([drained, untilServed(listener), Bun.sleep(DRAIN_MS)]);",
    error: "await Promise.race([drained, Bun.sleep(DRAIN_MS)]);",
    test: "test/cli/serve_slow.ts",
  },

  // Faults of 0.2.0, before its release.
  {
    name: "a reference named as another limit is taken for the limit",
    file: "src/data/query/needed_index.ts",
    text: "=== detail,",
    error: "!== detail && detail?.endsWith(referenced.path) !== false,",
    test: "test/data/referenced_limits_test.ts",
  },
  {
    name: "a page loses rows of unique long texts with the same start",
    file: "src/db/code/tables/finders.sql",
    text: "page := case when is_long is not null and (walk ->> 'isUnique')::bool",
    error: "page := case when is_long is null and (walk ->> 'isUnique')::bool",
    test: "test/data/long_texts_test.ts",
  },
  {
    name: "the order of ids counts as an index of a search",
    file: "src/data/query/index_use.ts",
    text: "const hasOrder = (isOrdered || isStarted) && columns[0]?.name !== ID.name;",
    error: "const hasOrder = isOrdered || isStarted;",
    test: "src/data/query/needed_index_test.ts",
  },
  {
    name: "a restore forgets the reference that the same request cleared",
    file: "src/console/rows/history_plan.ts",
    text: "ofRow.toSorted(compareTimes)",
    error: "ofRow.toSorted((a, b) => a.id - b.id)",
    test: "src/console/rows/history_plan_test.ts",
  },
  {
    name: "two references that one delete clears are recorded four times",
    file: "src/db/code/apps/listeners.sql",
    text: 'on "$left"."$place" operator(pg_catalog.=) "$right"."$place"',
    error: 'on "$left"."id" operator(pg_catalog.=) ("$right"."$row")."id"',
    test: "test/data/history_test.ts",
  },
  {
    name: "a write whose key was restored during the call is rejected",
    file: "src/db/code/apps/keys.sql",
    text: "  perform rowhouse.check_stopped(bits);",
    error: "",
    test: "test/data/read_only_test.ts",
  },
  {
    name: "the description of a list of updates has no id",
    file: "src/openapi/table_schemas.ts",
    text: "properties: { ...MATCH, ...toProperties(columns, toUpdateSchema) },",
    error: "properties: { ...toProperties(columns, toUpdateSchema) },",
    test: "test/openapi/reference_test.ts",
  },
  {
    name: "a person uses the whole time of an app for queries without an index",
    file: "src/data/unindexed.ts",
    text: "msAMinute / 2));",
    error: "msAMinute));",
    test: "test/data/unindexed_test.ts",
  },
  {
    name: "related rows are found without the rule of their table",
    file: "src/db/code/tables/related.sql",
    text: "entered.terms ->> 'read', rowhouse.sort_term(",
    error: "'true', rowhouse.sort_term(",
    test: "test/data/person_related_test.ts",
  },
  {
    name: "a condition of a request is compared before the rule",
    file: "src/db/code/tables/find.sql",
    text: "case when is_fenced then in_order || ' offset 0' end",
    error: "case when is_fenced then in_order end",
    test: "test/data/person_hostile_plan_test.ts",
  },
  {
    name: "an upsert with existing=only creates rows",
    file: "src/data/upsert.ts",
    text: 'if (query.existing === "only") return { endpoint: "update_keyed", values };',
    error: "",
    test: "test/data/upsert_test.ts",
  },
  {
    name: "the guard accepts a finder with another body",
    file: "src/db/reader.ts",
    text: "where name = proname and digest = pg_catalog.md5(prosrc)",
    error: "where name = proname",
    test: "test/data/person_planted_finder_test.ts",
  },
  {
    name: "a session with the functions of many tables lives on",
    file: "src/db/pool/connections.ts",
    text: "return changesLeft <= 0 || memory.bytes() > MAX_SESSION_BYTES;",
    error: "return changesLeft <= 0;",
    test: "test/db/affinity_test.ts",
  },
];
