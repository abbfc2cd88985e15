/** Account settings: reads and changes by the signed-in person. @module */
export * from "./account.ts";
export * from "./account.ts";
export * from "./account.ts";
export { linkOwnProvider, type OwnLinks, readOwnLinks, unlinkOwnProvider } from "./account.ts";
