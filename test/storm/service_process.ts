/** A house as a process of its own, to be killed: settings as JSON in its first argument, its port on standard output. */
import { openHouse } from "../../src/house.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as {
  databaseUrl: string;
  adminDatabaseUrl: string;
  prepare: boolean;
};
const house = openHouse({ ...settings, connections: 5, keyPrefix: "rh", log: () => undefined });
await house.warm();
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: house.fetch });
process.stdout.write(`${server.port}\n`);
