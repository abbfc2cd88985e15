/** `rowhouse openapi`: describes the API of this folder's schema, without a service. @module */
import { resolve } from "node:path";
import { findBreaks, makeDocument } from "../openapi/mod.ts";
import { routes } from "../service/mod.ts";
import { isObject, tryParseJson } from "../std/json.ts";
import { type Command, type CommandResult, RejectedError, type Setting } from "./command.ts";
import { evaluateSchema, findSchemaFile } from "./db/evaluate.ts";
import { FILE_FLAGS } from "./db/flags.ts";
import { toDocument } from "./terminal.ts";

export const openapiCommand: Command = {
  name: "openapi",
  example: `rowhouse openapi > openapi.json
rowhouse openapi --against openapi.json`,
  about: `Runs without a service, for example in CI. A service serves the document of its pushed schema at GET /v1/openapi.json.
With --against it prints the changes that break clients of that document, instead of the document, and exits with 1 if
there are any: removed endpoints and columns, values that are no longer accepted, and newly required columns.`,
  positionals: [],
  flags: {
    schema: FILE_FLAGS.schema,
    url: { value: "url", about: "the service's address, for the document", default: "/" },
    against: { value: "file", about: "a published document whose clients must keep working" },
  },
  run: runOpenapi,
};

async function runOpenapi(setting: Setting): Promise<CommandResult> {
  const { args, folder } = setting;
  const { tables } = await evaluateSchema(setting, findSchemaFile(setting));
  const server = args.text("url");
  const document = makeDocument(routes, { tables, ...(server === undefined ? {} : { server }) });
  const against = args.text("against");
  if (against === undefined) return { lines: [toDocument(document)] };
  const breaks = findBreaks(await readDocument(resolve(folder, against)), document);
  if (breaks.length > 0)
    throw new RejectedError(
      `These changes break clients of ${against}:\n${breaks.map((line) => `  ${line}`).join("\n")}`,
    );
  return { lines: [`No changes break clients of ${against}`] };
}

async function readDocument(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new RejectedError(`File not found: ${path}`);
  const document = tryParseJson(await file.text());
  if (isObject(document) && isObject(document["paths"])) return document;
  throw new RejectedError(`Cannot read ${path}: must be an OpenAPI document in JSON`);
}
