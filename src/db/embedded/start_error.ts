/** The error of an embedded PostgreSQL that cannot be started. @module */

/** The message is shown to people unchanged, and ends with a line break. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StartError";
  }
}
