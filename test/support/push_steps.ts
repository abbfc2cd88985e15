/** Pushes of one step each, without HTTP. @module */
import type { Definition } from "../../src/schema/mod.ts";
import {
  type Change,
  type PushDeps,
  type PushRequest,
  type PushResult,
  push,
} from "../../src/tables/mod.ts";

type Request<Step> = Omit<PushRequest, "steps"> & Step;

export function pushDefinition(
  deps: PushDeps,
  { definition, ...request }: Request<{ definition: Definition }>,
): Promise<PushResult> {
  return push(deps, { ...request, steps: [{ kind: "define", definition }] });
}

export function applyChange(
  deps: PushDeps,
  { change, ...request }: Request<{ change: Change }>,
): Promise<PushResult> {
  return push(deps, { ...request, steps: [{ kind: "change", change }] });
}
