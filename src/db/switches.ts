/**
 * Words that the database stores: the actions of the audit log, and the settings of apps that are on or off. The database rejects an
 * entry of any other action.
 *
 * @module
 */

import { APP_SWITCH_NAMES, type AppSwitchName, describeSwitch } from "../app_switch.ts";
import { quoteLiteral } from "../std/quote.ts";

export type AuditAction = {
  /** The predicate of a sentence about the actor. */
  label: string;
  /** Whether the action can make requests fail that succeeded before. */
  isChange?: true;
};

export type AuditActions = Readonly<Record<string, AuditAction>>;

/** Those that are not in the line `-- action:` of an SQL function (`code/visitor_functions.ts`). */
export const OTHER_AUDIT_ACTIONS: AuditActions = {
  ...Object.fromEntries(APP_SWITCH_NAMES.flatMap(toSwitchActions)),
  add_origin: { label: "added an origin", isChange: true },
  add_passkey: { label: "added a passkey" },
  add_second_factor: { label: "added a second factor" },
  begin_import: { label: "began to import a file" },
  begin_undo: { label: "began to undo an import" },
  build_keys: { label: "added keys of numbers and decimals to a table" },
  change_password: { label: "changed the password" },
  change_profile: { label: "changed the profile" },
  claims_withheld: { label: "signed in without all claims of the provider" },
  confirm_address: { label: "confirmed the address" },
  console_rejected: { label: "was denied an action" },
  convert_to_citus: { label: "distributed the database over several nodes" },
  create_user: { label: "created the person" },
  delete_app: { label: "deleted the app", isChange: true },
  disable: { label: "disabled the person" },
  enable: { label: "enabled the person" },
  import_rows: { label: "imported a file" },
  link_provider: { label: "linked a provider account" },
  make_recovery_codes: { label: "created recovery codes" },
  move_app: { label: "moved the app to another node", isChange: true },
  open_app: { label: "opened the app in a browser" },
  open_rows: { label: "opened rows" },
  remove_passkey: { label: "removed a passkey" },
  remove_second_factor: { label: "removed a second factor" },
  set_history_days: { label: "set the days of the history of rows" },
  rename_app: { label: "renamed the app", isChange: true },
  second_factor_rejected: { label: "entered a wrong second factor" },
  second_factor_throttled: { label: "entered too many wrong codes" },
  session_conflict: { label: "sent two sessions in one request" },
  set_password: { label: "set a password with a link" },
  sign_in: { label: "signed in" },
  sign_in_failed: { label: "entered wrong passwords before signing in" },
  sign_in_rejected: { label: "was denied sign-in" },
  sign_in_throttled: { label: "reached the sign-in limit" },
  sign_out: { label: "signed out" },
  sign_out_everywhere: { label: "signed out everywhere" },
  undo_import: { label: "undid an import" },
  unlink_provider: { label: "unlinked a provider account" },
  widen_rules: { label: "gave people more rights by rules of a push", isChange: true },
  use_recovery_code: { label: "used a recovery code" },
};

function toSwitchActions(name: AppSwitchName): [string, AuditAction][] {
  const { logged, isChange } = describeSwitch(name);
  return (["on", "off"] as const).map((state) => [
    `set_${name}_${state}`,
    { label: logged[state], ...(isChange && { isChange }) },
  ]);
}

/** Fills `rowhouse.audit_actions`. An action of an earlier release stays as long as it has entries. */
export function renderAuditActions(actions: AuditActions): string {
  const rows = Object.entries(actions).map(
    ([name, { isChange = false }]) => `(${quoteLiteral(name)}, ${isChange})`,
  );
  return renderRows("audit_actions", ["name", "is_change"], rows, {
    unless: "exists (select from rowhouse.audit where action = name)",
  });
}

/** Fills the table of an app's settings that are on or off. */
export function renderSwitches(): string {
  const rows = APP_SWITCH_NAMES.map((name) => {
    const { proofBit = 0, notOnCluster, stops } = describeSwitch(name);
    return `(${quoteLiteral(name)}, ${proofBit}, ${notOnCluster === undefined}, ${stops !== undefined}, null::pg_catalog.text)`;
  });
  // No code reads the preview since 0.2.0.
  const columns = ["name", "proof_bit", "is_for_clusters", "stops_writes", "preview"];
  return renderRows("app_switches", columns, rows);
}

/** A statement that gives a table these rows, and writes only what differs. Returns the written and deleted keys, of the first column. */
function renderRows(
  table: string,
  columns: readonly string[],
  rows: readonly string[],
  { unless = "false" } = {},
): string {
  const [key, ...others] = columns;
  return `with wanted as (select * from (values
  ${rows.join(",\n  ")}) as listed (${columns.join(", ")})),
deleted as (
  delete from rowhouse.${table} where ${key} not in (select ${key} from wanted) and not ${unless}
  returning ${key}),
written as (insert into rowhouse.${table} (${columns.join(", ")}) select * from wanted
on conflict (${key}) do update set ${others.map((name) => `${name} = excluded.${name}`).join(", ")}
where (${others.map((name) => `${table}.${name}`).join(", ")}) is distinct from (${others.map((name) => `excluded.${name}`).join(", ")})
  returning ${key})
select * from deleted union all select * from written`;
}
