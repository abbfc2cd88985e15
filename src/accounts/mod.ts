/** Apps, keys and people: functions over the database, shared by the rooms above. @module */
export type { Actor, ConsoleActor } from "./action.ts";
export { changeEmail } from "./address_change.ts";
export {
  type AddressState,
  confirmAddresses,
  isConfirmed,
  readAddresses,
} from "./addresses.ts";
export { type AppContents, deleteApp, findAppContents } from "./app_deletion.ts";
export { renameApp, setAppDisabled } from "./app_life.ts";
export { moveApp } from "./app_node.ts";
export { setTargets } from "./app_targets.ts";
export { APP_SLUG, addOrigin, createApp, findAppId, listApps } from "./apps.ts";
export {
  listAudit,
  OPERATOR,
  sweepAudit,
} from "./audit.ts";
export { AUDIT_RETENTION_S } from "./audit_retention.ts";
export {
  type ClaimedRole,
  countClaimedRoles,
  findClaimedApps,
  makeClaimedRecords,
} from "./claimed_roles.ts";
export {
  type AppEnd,
  deleteAppByConsole,
  describeAppEnd,
} from "./console_apps.ts";
export {
  type AuditFilter,
  type ConsoleAuditEntry,
  listConsoleAudit,
  type ShownAudit,
} from "./console_audit.ts";
export {
  type ConsoleDeps,
  ConsoleRefused,
  SecondFactorNeeded,
} from "./console_call.ts";
export {
  type ConsoleHome,
  type KeptRequest,
  listConsoleRequests,
  readConsoleHome,
} from "./console_home.ts";
export { type Numbers, SPANS, type Span } from "./console_numbers.ts";
export {
  type AnyPerson,
  type AppPerson,
  type ConsolePerson,
  listAppPeople,
  listConsoleInvitations,
  listConsolePeople,
  type ShownPerson,
  showConsolePerson,
} from "./console_people_reads.ts";
export {
  type ConsolePush,
  listConsolePushes,
  type ShownPush,
  showConsolePush,
} from "./console_pushes.ts";
export {
  type ConsoleApp,
  type ConsoleVisitor,
  listConsoleApps,
  type ShownApp,
  showConsoleApp,
} from "./console_reads.ts";
export {
  openRows,
  type RowsKey,
  type ShownRows,
  showConsoleRows,
} from "./console_rows.ts";
export {
  type ConsoleAppTable,
  type ConsoleBuild,
  type ConsoleTable,
  endRegistrationByConsole,
  type FoundTable,
  listConsoleAppTables,
  listConsoleTables,
  type ShownTable,
  showConsoleTable,
  type TableSize,
  type TableUsers,
} from "./console_tables.ts";
export { type DevLeftovers, findDevLeftovers } from "./dev_leftovers.ts";
export { isDeviceName, toDeviceName } from "./device_name.ts";
export { type Device, readDevice, toDeviceText } from "./device_text.ts";
export { NAME_MAX_CHARS } from "./display_name.ts";
export { readEmail, toCanonicalEmail } from "./email.ts";
export { exportUser } from "./export_user.ts";
export { refuseFor } from "./faults.ts";
export {
  type ClaimedGrant,
  checkRole,
  type GrantOptions,
  grantRole,
  listClaimedGrants,
  revokeClaimedRoles,
  revokeRole,
} from "./grants.ts";
export {
  findIdentitySecret,
  type IdentitySecrets,
  makeIdentitySecrets,
} from "./identity_secrets.ts";
export {
  type Invitation,
  type InvitationOutcome,
  invite,
  type ListedInvitation,
  listInvitations,
  resendInvitation,
  withdrawInvitation,
} from "./invitations.ts";
export {
  GRACES,
  type Grace,
  type ListedKey,
  listKeys,
  rollKey,
} from "./key_life.ts";
export { toProof } from "./key_proof.ts";
export { KEY_MAX_LENGTH, readKeyText } from "./key_text.ts";
export {
  issueKey,
  type KeyRecord,
  type KeyUse,
  revokeKey,
  type UsedKey,
  unknownApp,
  useKey,
  useKeys,
} from "./keys.ts";
export {
  DEFAULT_PER_MINUTE,
  type Limit,
  type Limits,
  MAX_PER_MINUTE,
  makeLimits,
  setLimit,
} from "./limits.ts";
export {
  askForPassword,
  type ClaimedMail,
  claimMails,
  FORGOTTEN_LINK_LIFE_S,
  findLinkMail,
  findMailedLink,
  isMailable,
  type LinkMail,
  type MailLinkDeps,
  type MailState,
  readMailState,
  settleMail,
} from "./mails.ts";
export { makeOrigins, type Origins } from "./origins.ts";
export {
  changeOwnPassword,
  changeOwnProfile,
  endOwnSessions,
  NotSignedIn,
  type OwnAccount,
  type OwnSession,
  PICTURE_MAX_CHARS,
  readOwnAccount,
} from "./own_account.ts";
export {
  type AddOutcome,
  addOwnPasskey,
  type OwnPasskey,
  type OwnPasskeys,
  PASSKEY_LABEL_MAX_CHARS,
  readOwnPasskeys,
  removeOwnPasskey,
  renameOwnPasskey,
} from "./own_passkeys.ts";
export {
  type OwnSecondFactor,
  putOwnRecoveryCodes,
  putOwnTotp,
  readOwnSecondFactor,
  removeOwnTotp,
} from "./own_second_factor.ts";
export { finishPasskeySignIn } from "./passkey_sign_ins.ts";
export { beginPasskey, toPasskeyFactor } from "./passkeys.ts";
export {
  deriveLinkText,
  findPasswordLink,
  LINK_LIFE_S,
  type LinkDeps,
  type PasswordLink,
  usePasswordLink,
} from "./password_links.ts";
export {
  type PasswordRecord,
  proveSignIn,
  toKeyedPassword,
  toPasswordRecord,
} from "./passwords.ts";
export {
  findPendingSignIn,
  makePending,
  type NewPending,
  PENDING_LIFE_S,
  type PendingSignIn,
  toPendingShown,
} from "./pending_sign_ins.ts";
export {
  type FailedSignIns,
  type ListedUser,
  listGrants,
  listSessions,
  listUsers,
  showUser,
} from "./people_lists.ts";
export {
  createLinked,
  findProviderPerson,
  type Linked,
  linkInvited,
  linkOwnProvider,
  type OwnLinks,
  readOwnLinks,
  type Subject,
  unlinkOwnProvider,
} from "./provider_links.ts";
export {
  beginProviderSignIn,
  finishProviderSignIn,
  noteRefusedSignIn,
} from "./provider_sign_ins.ts";
export {
  makeRecoveryCodes,
  proveRecoveryCode,
  type RecoveryCodes,
  readRecoveryCode,
} from "./recovery_codes.ts";
export { type EndedUse, runRowsJobs } from "./rows_jobs.ts";
export { seal, unseal } from "./sealed_text.ts";
export {
  beginSecondFactor,
  type FactorAttempt,
  type FactorFrom,
  type FactorKind,
  finishSecondFactor,
  noteWrongFactor,
  type RightFactor,
} from "./second_factors.ts";
export { isIdText, isSecretText, makeIdText, makeSecret } from "./secret_text.ts";
export {
  makeSession,
  type NewSession,
  toPresented,
} from "./session_text.ts";
export {
  type AppTargets,
  endSessions,
  endSessionsEverywhere,
  type PageSession,
  readMe,
  readPageSession,
  type Visitor,
  type VisitorApp,
} from "./sessions.ts";
export { hasAdministrator, readSetup } from "./setup.ts";
export { type ShownCookies, SignInTooOld } from "./shown_call.ts";
export {
  beginSignIn,
  type FactorRule,
  finishSignIn,
  type KnownUser,
  SIGN_IN_LIMITS,
  sweepThrottle,
} from "./sign_in_attempts.ts";
export {
  beginEndRegistration,
  type DroppedTable,
  dropTable,
  endRegistration,
  findEndedUse,
  transferTable,
} from "./tables.ts";
export { readTarget, type Target, type TypedTargets } from "./target.ts";
export {
  findStep,
  makeTotpKey,
  makeTotpRecord,
  type NewTotp,
  openNewTotp,
  openTotp,
  sealNewTotp,
  TOTP_CODE,
  toTotpUri,
} from "./totp.ts";
export {
  CONSOLE_ROLES,
  type ConsoleRole,
  createUser,
  deleteUser,
  endSessionOf,
  endSessionsOf,
  endSessionsOfApp,
  findNewUserFaults,
  giveConsoleRole,
  type MadeLink,
  makePasswordLink,
  type PersonRef,
  removeConsoleRole,
  resetSecondFactor,
  SuperAdminNeeded,
  setDisabled,
} from "./users.ts";
