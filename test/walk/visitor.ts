/** A visitor without a browser: curl with a cookie jar. @module */
import type { Machine } from "../support/machine.ts";
import { readHidden } from "../support/people.ts";

const PAGES = "https://id.example.org";
const PASSWORD = "three brown cups of tea";

/** Sets a password with an operator's link, which signs the person in. Returns the response with its headers. */
export async function signIn(machine: Machine, link: string): Promise<string> {
  const { pathname, search } = new URL(link);
  const typed = { password: PASSWORD };
  return await submit(machine, `${pathname}${search}`, typed);
}

/** Submits the form of a page. Returns the response with its headers. */
async function submit(
  machine: Machine,
  path: string,
  typed: Readonly<Record<string, string>>,
): Promise<string> {
  const page = await visit(machine, `${PAGES}${path}`);
  const fields = Object.entries({ ...readHidden(page), ...typed });
  const data = fields.map(([name, value]) => `--data-urlencode '${name}=${value}'`).join(" ");
  return await visit(machine, `${PAGES}${path}`, `-i -H 'Origin: ${PAGES}' ${data}`);
}

/** Requests a page with the jar's cookies. */
export async function visit(machine: Machine, url: string, more = ""): Promise<string> {
  return await machine.run(`curl -sS -b /root/jar -c /root/jar ${more} '${url}'`);
}
