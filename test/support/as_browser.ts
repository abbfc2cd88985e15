/** A page's network without a browser: requests get the cookies and the headers that a browser of a page would send. @module */

import { type Jar, toCookieHeader } from "./people.ts";

export type PageNetwork = {
  /** The address of the API and of the pages, as the page sees them. */
  readonly url: string;
  /** The cookies of the browser: a sign-in replaces them. */
  jar: Jar;
  /** The requests so far: `POST /session-key`. */
  readonly requests: string[];
  readonly stop: () => Promise<void>;
};

/** A proxy in front of a service for a page of this origin. */
export function openPageNetwork(serviceUrl: string, origin: string): PageNetwork {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      network.requests.push(`${request.method} ${pathname}`);
      const headers = new Headers(request.headers);
      headers.delete("host");
      headers.set("origin", origin);
      headers.set("sec-fetch-site", "same-site");
      // A browser sends cookies only with credentials: the data path must not need them.
      if (!headers.has("authorization") && network.jar.size > 0)
        headers.set("cookie", toCookieHeader(network.jar));
      return await fetch(serviceUrl + pathname + search, {
        method: request.method,
        headers,
        redirect: "manual",
        decompress: false,
        ...(request.body === null ? {} : { body: await request.text() }),
        signal: request.signal,
      });
    },
  });
  const network: PageNetwork = {
    url: `http://127.0.0.1:${server.port}`,
    jar: new Map(),
    requests: [],
    stop: () => server.stop(true),
  };
  return network;
}
