/** The field in which the name of a thing is typed before something happens to it that cannot be undone. @module */
import type { Html } from "../pages/mod.ts";
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
