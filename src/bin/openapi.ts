/** `rowhouse openapi`: the description of the API that this folder's schema would have, without a service. @module */
import { resolve } from "node:path";
import { findBreaks, makeDocument } from "../openapi/mod.ts";
import { routes } from "../service/mod.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { type Command, EXIT, RefusedError, type Setting } from "./cli/command.ts";
import { evaluateSchema, findSchemaFile } from "./db/evaluate.ts";

export const openapiCommand: Command = {
  name: "openapi",
  example: `rowhouse openapi > openapi.json
rowhouse openapi --against openapi.json`,
  about: `Needs no service, so that it runs in CI. A service serves the same of what was pushed at GET /v1/openapi.json.
With --against it prints what clients of that document would lose, in place of the document, and exits with 1 if there
is such a thing: endpoints and columns that are gone, values that are no longer taken, columns that are required now.`,
  positionals: [],
  flags: {
    schema: { value: "path", about: "the schema's file, or a folder with mod.ts; default schema/" },
    url: { value: "url", about: "the service's address, for the document; default /" },
    against: { value: "file", about: "a published document, which must not break" },
  },
  run: runOpenapi,
};

async function runOpenapi({ args, env, folder, terminal }: Setting): Promise<0> {
  const file = findSchemaFile(folder, args.text("schema"));
  const { tables } = await evaluateSchema({ folder, file, env, terminal });
  const server = args.text("url");
  const document = makeDocument(routes, { tables, ...(server === undefined ? {} : { server }) });
  const against = args.text("against");
  if (against === undefined) {
    terminal.say(JSON.stringify(document, null, 2));
    return EXIT.done;
  }
  const breaks = findBreaks(await readDocument(resolve(folder, against)), document);
  if (breaks.length > 0)
    throw new RefusedError(
      `Clients of ${against} would lose this:\n${breaks.map((line) => `  ${line}`).join("\n")}`,
    );
  terminal.say(`Nothing of ${against} is lost`);
  return EXIT.done;
}

async function readDocument(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new RefusedError(`There is no file ${path}`);
  const document = tryParseJson(await file.text());
  if (isObject(document) && isObject(document["paths"])) return document;
  throw new RefusedError(`${path} is no OpenAPI document as JSON`);
}
