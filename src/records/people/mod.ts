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
export * from "./password_links.ts";
export * from "./people.ts";
export * from "./people_lists.ts";
export * from "./person_actions.ts";
export * from "./role_actions.ts";
export * from "./roles.ts";
export * from "./several.ts";
