/** The service's own migrations in order: append only, each one message, one transaction. @module */
import { HOUSE } from "./0001_house.ts";
<<<<<<< HEAD
import { PUSH } from "./0003_push.ts";
=======
import { IDENTITY } from "./0002_identity.ts";
>>>>>>> 4b97a07 (identity: people, sessions and what the database holds of them)

export type ServiceMigration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
};

export const MIGRATIONS: readonly ServiceMigration[] = [
  { number: 1, name: "house", sql: HOUSE },
<<<<<<< HEAD
  { number: 3, name: "push", sql: PUSH },
=======
  { number: 2, name: "identity", sql: IDENTITY },
>>>>>>> 4b97a07 (identity: people, sessions and what the database holds of them)
];
