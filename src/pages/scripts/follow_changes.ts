/**
 * The event stream of a table's changes. It is open while the page is visible. After it ends, it opens again only when the user
 * is active, so that an unattended page does not keep the session alive.
 *
 * @module
 */

/** A changed row with its new tag, or the id of a deleted row. */
export type RowChange = { put: string; etag: string } | { delete: string };

export type ChangeReader = {
  onChanges: (changes: readonly RowChange[]) => void;
  /** An unknown set of rows has changed. */
  onReset: () => void;
};

const ACTIVITY = ["pointerdown", "pointermove", "keydown", "wheel", "focus"] as const;
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** Servers limit the length of addresses. */
const MAX_CURSOR_CHARACTERS = 2000;
/** This cursor causes a reset. */
const UNKNOWN_CURSOR = "unknown";

/** Reads the changes after a cursor, as long as the page exists. */
export function followChanges(address: string, cursor: string, reader: ChangeReader): void {
  let since = cursor;
  let events: EventSource | undefined;
  let retryMs = MIN_RETRY_MS;
  let retryAt = 0;
  const close = () => {
    events?.close();
    events = undefined;
  };
  const open = () => {
    if (events !== undefined || document.hidden || performance.now() < retryAt) return;
    const known = since.length > MAX_CURSOR_CHARACTERS ? UNKNOWN_CURSOR : since;
    events = new EventSource(`${address}?${new URLSearchParams({ since: known })}`);
    events.addEventListener("changes", (event) => {
      keepCursor(event);
      reader.onChanges(JSON.parse(event.data));
    });
    events.addEventListener("reset", (event) => {
      keepCursor(event);
      reader.onReset();
    });
    // The browser itself would reconnect without an active user.
    events.addEventListener("error", () => {
      close();
      retryAt = performance.now() + retryMs;
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    });
  };
  const keepCursor = ({ lastEventId }: MessageEvent) => {
    since = lastEventId;
    retryMs = MIN_RETRY_MS;
  };
  for (const name of ACTIVITY) addEventListener(name, open, { passive: true });
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}
