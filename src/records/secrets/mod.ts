/** Secrets, and their proofs that the database checks. @module */
export {
  findIdentitySecret,
  type IdentitySecrets,
  makeIdentitySecrets,
} from "./identity_secrets.ts";
export * from "./secrets.ts";
