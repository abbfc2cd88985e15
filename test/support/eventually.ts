/** Waits for an effect in another process, connection or session. @module */

/** Long enough to start a PostgreSQL on a busy machine, and shorter than the limit of a test. */
const PATIENCE_MS = 40_000;
/** Between two checks: an eighth of the time waited, within these limits. A check can cost requests and statements. */
const PAUSE_MS = { min: 20, max: 250 };

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
  const startedAt = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > patienceMs) throw new Error(`Waited in vain: ${describe()}`);
    await Bun.sleep(Math.min(Math.max(waitedMs / 8, PAUSE_MS.min), PAUSE_MS.max));
  }
}

/** Reads until what is read suffices, and returns it. */
export async function untilRead<Value>(
  read: () => Promise<Value>,
  suffices: (value: Value) => boolean,
): Promise<Value> {
  let value = await read();
  const look = async () => {
    if (suffices(value)) return true;
    value = await read();
    return suffices(value);
  };
  await eventually(look, {
    describe: () => (typeof value === "string" ? value : JSON.stringify(value)),
  });
  return value;
}

/** Reads a text until it has this part, and returns it. */
export function untilShown(show: () => Promise<string>, part: string): Promise<string> {
  return untilRead(show, (text) => text.includes(part));
}
