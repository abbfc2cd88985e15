/** The service's own migrations in order: append only, each one message, one transaction. @module */
import { HOUSE } from "./0001_house.ts";
import { IDENTITY } from "./0002_identity.ts";
import { PUSH } from "./0003_push.ts";
import { GATEWAY } from "./0004_gateway.ts";
import { THROTTLE } from "./0005_throttle.ts";

export type ServiceMigration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
};

export const MIGRATIONS: readonly ServiceMigration[] = [
  { number: 1, name: "house", sql: HOUSE },
  { number: 2, name: "identity", sql: IDENTITY },
  { number: 3, name: "push", sql: PUSH },
  { number: 4, name: "gateway", sql: GATEWAY },
  { number: 5, name: "throttle", sql: THROTTLE },
];
