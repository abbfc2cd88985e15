/** Shows times in the reader's time zone and language, with UTC on hover, and updates relative times. @module */
import { toDistance } from "./distance.ts";
import { formatMinute, formatTime } from "./time_text.ts";

const REFRESH_MS = 30_000;
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export function startTimes(): void {
  showTimes(document);
  setInterval(() => showTimes(document), REFRESH_MS);
  document.addEventListener("visibilitychange", () => showTimes(document));
}

export function showTimes(root: ParentNode): void {
  if (document.hidden) return;
  for (const time of root.querySelectorAll<HTMLTimeElement>("time[datetime*=T]")) showTime(time);
}

function showTime(time: HTMLTimeElement): void {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  if (time.dataset["exact"] !== undefined) {
    showExact(time);
    return;
  }
  const utc = `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const isRelative = time.dataset["relative"] !== undefined;
  const text = isRelative
    ? (toDistance(at.getTime() - Date.now()) ?? DATE.format(at))
    : formatMinute(at);
  if (time.textContent !== text) time.textContent = text;
  time.title = isRelative ? `${formatMinute(at)}\n${utc}` : utc;
}

/** A value of a row. On hover it shows all digits from the server. */
function showExact(time: HTMLTimeElement): void {
  if (time.title !== "") return;
  time.title = time.textContent;
  time.textContent = formatTime(time.dateTime);
}
