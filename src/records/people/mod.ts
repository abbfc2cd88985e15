/** People, their addresses, invitations and roles. @module */
export {
  type AddressState,
  changeEmail,
  confirmAddresses,
  isConfirmed,
  readAddresses,
  readEmail,
  splitEmails,
  toCanonicalEmail,
} from "./addresses.ts";
export * from "./invitations.ts";
export {
  deriveLinkText,
  findPasswordLink,
  type LinkDeps,
  type PasswordLink,
  usePasswordLink,
} from "./password_links.ts";
export {
  APP_ROLE,
  CONSOLE_ROLE,
  CONSOLE_ROLES,
  type ConsoleRole,
  type CreatedLink,
  createUser,
  DISPLAY_NAME,
  EMAIL,
  endAccess,
  exportUser,
  findNewUserIssues,
  giveConsoleRole,
  isDisplayName,
  makePasswordLink,
  NAME_MAX_CHARS,
  NEW_EMAIL,
  namePerson,
  removeConsoleRole,
  runOnPerson,
  setDisabled,
} from "./people.ts";
export * from "./people_lists.ts";
export {
  type ClaimedGrant,
  type ClaimedRole,
  countClaimedRoles,
  describeNewRole,
  findClaimedApps,
  type GrantOptions,
  grantAppRoles,
  grantRole,
  listClaimedGrants,
  makeClaimedRecords,
  revokeClaimedRoles,
  revokeRole,
} from "./roles.ts";
export * from "./several.ts";
