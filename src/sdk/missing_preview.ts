/** What a call of a person needs that the service does not have. Not in the bundle of the data client. @module */
import { DataError } from "./data_error.ts";

/** What a service without the preview says about `upsert` and `deleteMany`. It names the preview for the parts of a query. */
const WITHOUT_FILTERS = /only lists have query parameters/;

/** Names the preview that a call of a person lacks. */
export function explainMissing(error: DataError): DataError {
  const isMissing =
    error.code === "method_not_allowed" ||
    (error.code === "unsupported_query" && WITHOUT_FILTERS.test(error.message));
  if (!isMissing) return error;
  return new DataError(`${error.message}; this call needs PREVIEW=filters in the service`, error);
}
