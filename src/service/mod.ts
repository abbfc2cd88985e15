/** A running service: pools, isolation guard, metrics and the modules of its role; and the doctor's checks. @module */
export { examineCookieDomain, judgeProxies } from "./callers.ts";
export { judgeDriver, judgeSecrets, judgeSettings } from "./configuration.ts";
export { ADMIN_CONNECTIONS } from "./databases.ts";
export { examine, examineAdmin } from "./doctor.ts";
export type { Finding } from "./finding.ts";
export { IsolationError, openService, type Service } from "./open.ts";
export { examineMailServer, examineProviders } from "./outward.ts";
export { examinePooler } from "./pooler.ts";
export { examineConsole, examineLogins } from "./pushing.ts";
export { routes } from "./routes.ts";
