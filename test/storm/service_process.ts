/** A service in its own process, which tests kill: settings as JSON in its first argument, its port on standard output. */

import { openService } from "../../src/service/open.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as {
  databaseUrl: string;
  adminDatabaseUrl: string;
  prepare: boolean;
};
const service = openService({
  ...settings,
  connections: 5,
  keyPrefix: "rh",
  identitySecrets: [TEST_IDENTITY_SECRET],
  log: () => undefined,
});
await service.warm();
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: service.fetch });
process.stdout.write(`${server.port}\n`);
