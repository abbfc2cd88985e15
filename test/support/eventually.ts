/** Waiting for what another process, connection or session does. @module */

/** Long enough for a PostgreSQL that is made on a busy machine, and shorter than any test may take. */
const PATIENCE_MS = 40_000;
const PAUSE_MS = 20;

/**
 * Waits until a condition holds.
 *
 * @throws {Error} with what `describe` says — it did not hold in time
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
