/**
 * What a person at a terminal decides before a push: whether to share tables of other apps, and whether to push to a place
 * with `confirm`.
 *
 * @module
 */
import { RefusedError, type Setting } from "../cli/command.ts";
import type { Pushed } from "./schema_service.ts";
import type { Destination } from "./service.ts";
import { describeSharing, listShared } from "./sharing.ts";

export type Confirm = {
  /** Whether it needs the plan of every push; otherwise only of those with tables that are new to the app. */
  isForAll: boolean;
  /** @throws {RefusedError} the answer is not yes */
  ask: (plan: Pushed) => Promise<void>;
};

/** What asks before a push; `undefined` if no person can be asked, or the command line has the answer. */
export function findConfirm(
  { args, terminal }: Setting,
  destination: Destination,
  describe: (plan: Pushed) => readonly string[],
): Confirm | undefined {
  if (args.has("yes") || !terminal.canAsk) return undefined;
  const place = destination.kind === "service" ? destination.place : undefined;
  const askFor = async (lines: readonly string[], { question, otherwise }: Question) => {
    for (const line of lines) terminal.warn(line);
    const answer = await terminal.ask(`${question} [y/N]`);
    if (answer !== undefined && !/^y(es)?$/i.test(answer.trim())) throw new RefusedError(otherwise);
  };
  return {
    isForAll: place?.confirm === true,
    ask: async (plan) => {
      const lines = describe(plan);
      const shared = listShared(plan);
      if (shared.length > 0)
        await askFor(describeSharing(shared), {
          question: `Share ${shared.join(", ")}?`,
          otherwise: "Nothing was pushed: to keep a table for this app alone, choose another name",
        });
      if (place?.confirm === true && plan.status !== "unchanged")
        await askFor(lines, {
          question: `Push this to ${place.name} (${place.url})?`,
          otherwise: "Nothing was pushed",
        });
    },
  };
}

type Question = { question: string; otherwise: string };
