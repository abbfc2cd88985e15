/**
 * The work of pushes that needs much CPU, as pure tasks: they read bodies, plan, and render functions. A service runs them in a
 * thread of its own, because one push can need seconds; a command runs them in place.
 *
 * @module
 */
import { PushBody } from "./bodies.ts";
import type { FunctionSite } from "./catalog/mod.ts";
import { readValue } from "./issues.ts";
import type { PreparedPush, PrepareOptions } from "./plan/prepare.ts";
import type { Step } from "./plan/step.ts";
import type { PushingApp } from "./push_key.ts";
import { type PushStep, prepareStep, type ReadyStep } from "./push_step.ts";
import { readSentText, type SentText } from "./sent_text.ts";
import { type RenderedFunctions, renderFunctionStep } from "./sql/function_steps.ts";
import type { PushState } from "./state.ts";

type Prepare = {
  state: PushState;
  step: ReadyStep | PushStep;
  app: Pick<PushingApp, "id" | "slug">;
  options: PrepareOptions;
};

/** Arguments and results are plain data: they cross threads as JSON. */
const TASKS = {
  readBody: (body: unknown) => readValue(PushBody, body),
  readText: (text: SentText) => readSentText(text),
  prepare: ({ state, step, ...context }: Prepare): PreparedPush =>
    prepareStep(state, step as ReadyStep, context),
  render: ({ step, site }: { step: Step; site: FunctionSite }): RenderedFunctions =>
    renderFunctionStep(step, site),
};
type Tasks = typeof TASKS;
export type TaskName = keyof Tasks;
type Input<Name extends TaskName> = Parameters<Tasks[Name]>[0];
type Output<Name extends TaskName> = ReturnType<Tasks[Name]>;

/** Runs a task for an app. Rejects with the task's own error. */
export type Work = <Name extends TaskName>(
  appId: string,
  name: Name,
  input: Input<Name>,
) => Promise<Output<Name>>;

export function runTask<Name extends TaskName>(name: Name, input: Input<Name>): Output<Name> {
  const task = TASKS[name] as (input: Input<Name>) => Output<Name>;
  return task(input);
}

/** Runs each task in place, at once. */
export async function workInPlace<Name extends TaskName>(
  _: string,
  name: Name,
  input: Input<Name>,
): Promise<Output<Name>> {
  return runTask(name, input);
}
