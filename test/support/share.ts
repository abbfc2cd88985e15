/** What the tests of a file share, such as a service: opened before the first test, closed after the last. @module */
import { afterAll } from "bun:test";

type Closable =
  | { readonly close: () => unknown }
  | { readonly drop: () => unknown }
  | { readonly remove: () => unknown }
  | { readonly stop: (closesConnections: true) => unknown };

/** What is open, the last opened first. Workers run one file after another. */
const open: Closable[] = [];

/**
 * Returns what was opened, and closes it after the tests of the file; what was opened last is closed first.
 * @example const service = await share(openTestService());
 */
export async function share<T extends Closable>(opening: T | Promise<T>): Promise<T> {
  const opened = await opening;
  open.unshift(opened);
  afterAll(async () => {
    const next = open.shift();
    if (next !== undefined) await close(next);
  });
  return opened;
}

async function close(opened: Closable): Promise<void> {
  if ("close" in opened) await opened.close();
  else if ("drop" in opened) await opened.drop();
  else if ("remove" in opened) await opened.remove();
  else await opened.stop(true);
}
