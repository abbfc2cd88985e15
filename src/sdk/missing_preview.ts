/** What a call needs that the service does not have. @module */
import { DataError } from "./data_error.ts";

/** What a service without the preview says about the parts of a query, and about `deleteMany`. */
const WITHOUT_FILTERS = /only limit and offset on a list|only lists have query parameters/;

/** Names the preview that a call of a person lacks. */
export function explainMissing(error: DataError): DataError {
  const isMissing =
    error.code === "method_not_allowed" ||
    (error.code === "unsupported_query" && WITHOUT_FILTERS.test(error.message));
  if (!isMissing) return error;
  return new DataError(`${error.message}; this call needs PREVIEW=filters in the service`, error);
}
