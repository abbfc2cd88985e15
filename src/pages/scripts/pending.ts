/** The requests of this page that have no response yet: an event about a row can be older than the response that shows it. @module */

let started = 0;
let pending = 0;
const listeners: (() => void)[] = [];

/** Whether a request is open, or its response is not handled yet. */
export function isRequesting(): boolean {
  return pending > 0;
}

/** The number of requests so far. */
export function countRequests(): number {
  return started;
}

/** Calls the listener whenever all responses have been handled. */
export function onRequested(listener: () => void): void {
  listeners.push(listener);
}

/** Counts a request until its response is handled. */
export async function track<Response>(request: Promise<Response>): Promise<Response> {
  started++;
  pending++;
  try {
    return await request;
  } finally {
    // In a separate task: code that awaits the response runs first, and may send the next request.
    setTimeout(() => {
      pending--;
      if (pending === 0) for (const listener of listeners) listener();
    });
  }
}
