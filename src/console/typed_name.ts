/** The field in which the name of a thing is typed before something happens to it that cannot be undone. @module */
import type { Html } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { Visit } from "./enter.ts";
import { renderTextField } from "./parts.ts";

export function renderTypedName(name: string, act: string): Html {
  return renderTextField({
    name: "typed_name",
    label: `Type ${name} to ${act}`,
    maxLength: 63,
    mustBe: name,
    isRequired: true,
  });
}

/** @throws {Problem} invalid_request — another name was typed */
export function checkTypedName({ fields }: Visit, name: string, act: string): void {
  if (fields.get("typed_name") === name) return;
  throw new Problem("invalid_request", { message: `Type ${name} to ${act}` });
}
