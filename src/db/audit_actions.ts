/** The actions of the audit log. The database rejects an entry of any other action. @module */
import { APP_SWITCH_NAMES, type AppSwitchName, describeSwitch } from "../app_switch.ts";
import { quoteLiteral } from "../std/sql_literal.ts";

type AuditAction = {
  /** The predicate of a sentence about the actor. */
  label: string;
  /** Whether the action can make requests fail that succeeded before. */
  isChange?: true;
};

export const AUDIT_ACTIONS: Readonly<Record<string, AuditAction>> = {
  ...Object.fromEntries(APP_SWITCH_NAMES.flatMap(toSwitchActions)),
  add_origin: { label: "added an origin", isChange: true },
  add_passkey: { label: "added a passkey" },
  add_second_factor: { label: "added a second factor" },
  change_email: { label: "changed the address" },
  change_password: { label: "changed the password" },
  change_profile: { label: "changed the profile" },
  claims_withheld: { label: "signed in without all claims of the provider" },
  confirm_address: { label: "confirmed the address" },
  console_rejected: { label: "was denied an action" },
  convert_to_citus: { label: "distributed the database over several nodes" },
  create_app: { label: "created the app" },
  create_user: { label: "created the person" },
  delete_app: { label: "deleted the app", isChange: true },
  delete_user: { label: "deleted the person" },
  disable: { label: "disabled the person" },
  drop_table: { label: "dropped a table", isChange: true },
  enable: { label: "enabled the person" },
  end_registration: { label: "stopped using a table", isChange: true },
  end_sessions: { label: "ended sessions" },
  grant: { label: "granted a role", isChange: true },
  issue_key: { label: "issued a key" },
  link_provider: { label: "linked a provider account" },
  make_password_link: { label: "created a password link" },
  make_recovery_codes: { label: "created recovery codes" },
  move_app: { label: "moved the app to another node", isChange: true },
  open_rows: { label: "opened rows" },
  remove_passkey: { label: "removed a passkey" },
  remove_second_factor: { label: "removed a second factor" },
  rename_app: { label: "renamed the app", isChange: true },
  resend_invitation: { label: "sent an invitation again" },
  reset_second_factor: { label: "reset the second factor" },
  revoke: { label: "revoked a role", isChange: true },
  revoke_key: { label: "revoked a key", isChange: true },
  roll_key: { label: "rotated a key", isChange: true },
  second_factor_rejected: { label: "entered a wrong second factor" },
  second_factor_throttled: { label: "entered too many wrong codes" },
  session_conflict: { label: "sent two sessions in one request" },
  set_console_role: { label: "set the Console role", isChange: true },
  set_limit: { label: "set request limits", isChange: true },
  set_password: { label: "set a password with a link" },
  set_targets: { label: "set origins and redirects", isChange: true },
  sign_in: { label: "signed in" },
  sign_in_failed: { label: "entered wrong passwords before signing in" },
  sign_in_rejected: { label: "was denied sign-in" },
  sign_in_throttled: { label: "reached the sign-in limit" },
  sign_out: { label: "signed out" },
  sign_out_everywhere: { label: "signed out everywhere" },
  transfer_table: { label: "transferred ownership of a table", isChange: true },
  unlink_provider: { label: "unlinked a provider account" },
  use_recovery_code: { label: "used a recovery code" },
  withdraw_invitation: { label: "withdrew an invitation" },
};

function toSwitchActions(name: AppSwitchName): [string, AuditAction][] {
  const { logged, isChange } = describeSwitch(name);
  return (["on", "off"] as const).map((state) => [
    `set_${name}_${state}`,
    { label: logged[state], ...(isChange && { isChange }) },
  ]);
}

/** The label of an action; of an unknown action, such as one of a later version, its name. */
export function labelAction(action: string): string {
  return AUDIT_ACTIONS[action]?.label ?? action;
}

/** Fills `rowhouse.audit_actions`. */
export function renderAuditActions(): string {
  const rows = Object.entries(AUDIT_ACTIONS).map(
    ([name, { isChange = false }]) => `(${quoteLiteral(name)}, ${isChange})`,
  );
  return `insert into rowhouse.audit_actions (name, is_change) values\n  ${rows.join(",\n  ")};`;
}
