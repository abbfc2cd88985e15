/** A server in front of a service: sees each request before it, and each response after it. @module */

type Hooks = {
  /** Can respond instead of the service. */
  before?: (request: Request) => Promise<Response | undefined> | Response | undefined;
  after?: (response: Response, request: Request) => Promise<Response> | Response;
};

const EMPTY = [204, 304];

export function openForwarder(
  serviceUrl: string,
  { before = () => undefined, after = (response) => response }: Hooks,
): Bun.Server<undefined> {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const instead = await before(request);
      if (instead !== undefined) return instead;
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const body = request.body === null ? null : await request.text();
      const response = await fetch(serviceUrl + pathname + search, { method, headers, body });
      const passed = new Headers(response.headers);
      // The body is no longer compressed.
      passed.delete("content-encoding");
      const { status } = response;
      const bytes = EMPTY.includes(status) ? null : await response.bytes();
      return await after(new Response(bytes, { status, headers: passed }), request);
    },
  });
}
