/** People, their addresses, invitations and roles. @module */
export { changeEmail } from "./address_change.ts";
export { type AddressState, confirmAddresses, isConfirmed, readAddresses } from "./addresses.ts";
export {
  type ClaimedRole,
  countClaimedRoles,
  findClaimedApps,
  makeClaimedRecords,
} from "./claimed_roles.ts";
export { isDisplayName, NAME_MAX_CHARS } from "./display_name.ts";
export { readEmail, splitEmails, toCanonicalEmail } from "./email.ts";
export { exportUser } from "./export_user.ts";
export {
  type ClaimedGrant,
  type GrantOptions,
  grantRole,
  listClaimedGrants,
  revokeClaimedRoles,
  revokeRole,
} from "./grants.ts";
export { APP_ROLE, CONSOLE_ROLE, DISPLAY_NAME, EMAIL, NEW_EMAIL } from "./inputs.ts";
export * from "./invitations.ts";
export { describeNewRole } from "./new_role.ts";
export {
  deriveLinkText,
  findPasswordLink,
  type LinkDeps,
  type PasswordLink,
  usePasswordLink,
} from "./password_links.ts";
export * from "./people_lists.ts";
export {
  CONSOLE_ROLES,
  type ConsoleRole,
  type CreatedLink,
  createUser,
  findNewUserIssues,
  giveConsoleRole,
  makePasswordLink,
  namePerson,
  removeConsoleRole,
  runOnPerson,
  setDisabled,
} from "./users.ts";
