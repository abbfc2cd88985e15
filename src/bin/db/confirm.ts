/** A push to a place with `confirm`: the person at the terminal is shown the plan first, and asked. @module */
import { RefusedError, type Setting } from "../cli/command.ts";
import type { Pushed } from "./schema_service.ts";
import type { Destination } from "./service.ts";

/** Is told what a push would do. */
export type Confirm = (plan: Pushed) => Promise<void>;

/**
 * What asks before a push; `undefined` if there is no need to, or nobody to ask: then it goes on.
 *
 * @throws {RefusedError} the answer is not yes
 */
export function findConfirm(
  { args, terminal }: Setting,
  destination: Destination,
  describe: (plan: Pushed) => readonly string[],
): Confirm | undefined {
  const place = destination.kind === "service" ? destination.place : undefined;
  if (place?.confirm !== true || args.has("yes") || !terminal.canAsk) return undefined;
  return async (plan) => {
    if (plan.status === "unchanged") return;
    for (const line of describe(plan)) terminal.warn(line);
    const answer = await terminal.ask(`Push this to ${place.name} (${place.url})? [y/N]`);
    if (answer !== undefined && !/^y(es)?$/i.test(answer.trim()))
      throw new RefusedError("Nothing was pushed");
  };
}
