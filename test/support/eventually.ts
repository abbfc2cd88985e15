/** Waits for an effect in another process, connection or session. @module */

/** Long enough to start a PostgreSQL on a busy machine, and shorter than the limit of a test. */
const PATIENCE_MS = 40_000;
const PAUSE_MS = 20;

/**
 * Waits until a condition holds.
 *
 * @throws {Error} the condition did not hold in time; with the text of `describe`
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  {
    describe = () => "",
    patienceMs = PATIENCE_MS,
  }: { describe?: () => string; patienceMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain: ${describe()}`);
    await Bun.sleep(PAUSE_MS);
  }
}
