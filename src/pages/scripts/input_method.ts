/**
 * Keys that belong to an input method: it uses Enter, Tab, Escape and arrows to choose among its candidates. Every listener of
 * keys ignores them.
 *
 * @module
 */

const owned = new WeakSet<Event>();
/** The `keyCode` of a key that an input method handles. */
const HANDLED = 229;
/** WebKit reports the key that ends a composition after the end, at most this much later. */
const DELAY_MS = 500;
const isWebKit =
  /AppleWebKit\//.test(navigator.userAgent) && !/Chrom(e|ium)\//.test(navigator.userAgent);

let endedAt = Number.NEGATIVE_INFINITY;
/** Whether the script that ended a composition is still running. */
let isEnding = false;

document.addEventListener(
  "compositionend",
  ({ timeStamp }) => {
    endedAt = timeStamp;
    isEnding = true;
    queueMicrotask(() => {
      isEnding = false;
    });
  },
  { capture: true },
);
document.addEventListener(
  "keydown",
  (event) => {
    const isDelayed = isEnding || (isWebKit && event.timeStamp - endedAt < DELAY_MS);
    endedAt = Number.NEGATIVE_INFINITY;
    if (event.isComposing || event.keyCode === HANDLED || isDelayed) owned.add(event);
  },
  { capture: true },
);

/** Whether a key belongs to an input method. */
export function isInputMethodKey(event: Event): boolean {
  return owned.has(event);
}
