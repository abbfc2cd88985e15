/** Measures the processor time of work, which does not depend on the machine's load. @module */

/** Returns the result of `work` and this process's processor time for it, in milliseconds. */
export async function measureProcessor<Result>(
  work: () => Result | Promise<Result>,
): Promise<{ ms: number; result: Result }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, result };
}
