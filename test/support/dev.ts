/** `rowhouse dev` in a folder of a test: started until it serves, the file that it writes, and calls with its key. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DEV_FILE, type DevFile } from "../../src/cli/dev_file.ts";
import { type Running, startCommand } from "./command.ts";
import { type Call, callService, type TestResponse } from "./service.ts";

/** What `dev` prints last when it starts. */
export const DEV_READY = /Ctrl-C stops everything/;

export const devFileOf = (folder: string): string => join(folder, DEV_FILE);

export function readDev(folder: string): DevFile {
  return JSON.parse(readFileSync(devFileOf(folder), "utf8")) as DevFile;
}

export async function startDev(folder: string, ...flags: string[]): Promise<Running> {
  const dev = startCommand(["dev", "--port", "0", ...flags], { folder });
  await dev.until(DEV_READY);
  return dev;
}

/** Calls the API with the key of the project's app; with a body: POST. */
export async function callDev(folder: string, path: string, json?: object): Promise<TestResponse> {
  const { baseUrl, apiKey } = readDev(folder);
  const call: Call = json === undefined ? {} : { method: "POST", json };
  return await callService({ url: baseUrl }, undefined, path, { ...call, key: apiKey });
}
