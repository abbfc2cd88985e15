/** The oldest and the newest PostgreSQL of this machine, for tests of both. @module */
import { hasDebianPostgres, startDebianCluster } from "./debian_cluster.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./service.ts";

export const POSTGRES_VERSIONS = [
  { name: "PostgreSQL 18", isDebian: false },
  ...(hasDebianPostgres ? [{ name: "PostgreSQL 15", isDebian: true }] : []),
];

/** Opens a service on the run's cluster, or on a fresh cluster of PostgreSQL 15. */
export async function openOnVersion(
  isDebian: boolean,
  options: TestServiceOptions = {},
): Promise<TestService> {
  if (!isDebian) return openTestService(options);
  const { url, stop } = await startDebianCluster();
  const cluster = { admin: url, serving: url, prepare: true };
  const service = await openTestService({ ...options, cluster });
  const close = async () => {
    await service.close();
    await stop();
  };
  return { ...service, close };
}
