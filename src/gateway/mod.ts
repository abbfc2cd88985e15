/** The gateway: API keys to principals. @module */
export { type Authenticate, makeAuthenticate } from "./authenticate.ts";
