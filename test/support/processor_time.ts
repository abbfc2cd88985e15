/** How much work something is, whatever else the machine does. @module */

/** Returns the result of `work`, and the milliseconds of processor time that this process used for it. */
export async function measureProcessor<Result>(
  work: () => Result | Promise<Result>,
): Promise<{ ms: number; result: Result }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, result };
}
