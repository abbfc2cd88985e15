/** Account settings: reads and changes by the signed-in person. @module */
export * from "./account.ts";
export * from "./passkeys.ts";
export { linkOwnProvider, type OwnLinks, readOwnLinks, unlinkOwnProvider } from "./providers.ts";
export * from "./second_factor.ts";
