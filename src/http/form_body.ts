/** Parses form bodies: size-limited, URL-encoded, without repeated fields. @module */
import { Problem } from "../problem.ts";
import { readText } from "./body.ts";

const MAX_BYTES = 16_384;

/**
 * The fields of a form's body.
 *
 * @throws {Problem} unsupported_media_type; body_too_large; invalid_request — a field is sent twice
 */
export async function readForm(
  request: Request,
  maxBytes = MAX_BYTES,
): Promise<ReadonlyMap<string, string>> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) {
    throw new Problem("unsupported_media_type", {
      message: "Send the form as application/x-www-form-urlencoded",
    });
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(await readText(request, maxBytes))) {
    if (fields.has(name))
      throw new Problem("invalid_request", { message: "The form has a repeated field" });
    fields.set(name, value);
  }
  return fields;
}
