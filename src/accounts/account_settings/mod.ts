/** Account settings: reads and changes by the signed-in person. @module */
export {
  type AccountSettings,
  changeOwnPassword,
  changeOwnProfile,
  endOwnSessions,
  type OwnSession,
  PICTURE_MAX_CHARS,
  readAccountSettings,
} from "./account.ts";
export {
  type AddOutcome,
  addOwnPasskey,
  type OwnPasskey,
  type OwnPasskeys,
  PASSKEY_LABEL_MAX_CHARS,
  readOwnPasskeys,
  removeOwnPasskey,
  renameOwnPasskey,
} from "./passkeys.ts";
export { linkOwnProvider, type OwnLinks, readOwnLinks, unlinkOwnProvider } from "./providers.ts";
export {
  type OwnSecondFactor,
  putOwnRecoveryCodes,
  putOwnTotp,
  readOwnSecondFactor,
  removeOwnTotp,
} from "./second_factor.ts";
