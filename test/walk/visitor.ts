/** A browser without a window: curl with its jar of cookies. @module */
import type { Machine } from "../support/machine.ts";
import { readHidden } from "../support/people.ts";

const PAGES = "https://id.example.org";
const PASSWORD = "three brown cups of tea";

/** Sets a password by an operator's link, which signs the person in; the headers that set the cookies. */
export async function signIn(machine: Machine, link: string): Promise<string> {
  const { pathname, search } = new URL(link);
  const typed = { password: PASSWORD, password_again: PASSWORD };
  return await submit(machine, `${pathname}${search}`, typed);
}

/** Fills in the form of a page; the response's headers. */
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

/** A page or a response, with the cookies that the browser has. */
export async function visit(machine: Machine, url: string, more = ""): Promise<string> {
  return await machine.run(`curl -sS -b /root/jar -c /root/jar ${more} '${url}'`);
}
