/** The schema file of an app's project, which only `rowhouse dev` gives its service. Any other process has none. @module */

export type SchemaFile = {
  /** From the folder of the project. */
  readonly path: string;
  /** The text; `undefined` if there is no file, or a link leads to it. */
  readonly read: () => string | undefined;
  /** Replaces the text, if it still is `before`. Returns whether it was. */
  readonly replace: (before: string, after: string) => boolean;
};

/** The file of an app; `undefined` if it has none in this process. */
export type FindSchemaFile = (app: string) => SchemaFile | undefined;
