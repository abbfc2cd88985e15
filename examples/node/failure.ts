/** The response to an error: only errors that a person can correct. A rejected key or an outage is a 503, whose message only the log gets. */
import { DataError } from "rowhouse-client/data";

const CORRECTABLE = [400, 404, 409, 412, 413, 422] as const;

/** The status and body of the response to an error. @throws the error itself if it is a bug */
export function toFailure(error: unknown) {
  if (error instanceof SyntaxError)
    return { status: 400, body: { message: "Invalid JSON" } } as const;
  if (!(error instanceof DataError)) throw error;
  const status = CORRECTABLE.find((code) => code === error.status);
  if (status !== undefined)
    return { status, body: { message: error.message, details: error.details } };
  console.error(error);
  return { status: 503, body: { message: "The service is unavailable" } } as const;
}
