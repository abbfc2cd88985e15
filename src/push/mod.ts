/** Push: from an app's definition to tables, functions and a migration. The only writer of generated DDL. @module */
export { type PushResult, push } from "./apply.ts";
export { describePlan } from "./migration.ts";
export { type Plan, planPush, type Step } from "./plan.ts";
export { checkDefinition, MOST_BYTES, type PushRouteDeps, pushRoutes } from "./routes.ts";
export { readStatus, type Status } from "./status.ts";
