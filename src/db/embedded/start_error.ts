/** Why an embedded PostgreSQL cannot be started. @module */

/** The message is for people as it is, and ends with a line break. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StartError";
  }
}
