/** The visible result of the last change: saved, or not saved with the reason and an action. @module */
import { announce, element, makeButton } from "./dom.ts";

const ID = "save-state";
const SAVED_VISIBLE_MS = 8000;

type SaveAction = { name: string; run: () => void };

export function showSaved(text: string, action?: SaveAction): void {
  const notice = show(text, "notice-info", action);
  setTimeout(() => notice.remove(), SAVED_VISIBLE_MS);
}

export function showNotSaved(reason: string, action?: SaveAction): void {
  showFailure(`Not saved: ${reason}`, action);
}

/** The notice stays until the next change. */
export function showFailure(text: string, action?: SaveAction): void {
  show(text, "notice-error", action);
}

/** Returns a function that shows how far the task is. The notice stays until the next one. */
export function showRunning(text: string, stop: SaveAction): (text: string) => void {
  const notice = show(text, "notice-info", stop);
  const line = notice.querySelector("span");
  return (now) => line?.replaceChildren(now);
}

export function hideSaveState(): void {
  document.getElementById(ID)?.remove();
}

/** Presses the button of the notice: Undo or Retry. Returns whether there is one. */
export function pressSaveAction(): boolean {
  const button = document.querySelector<HTMLButtonElement>(`#${ID} button`);
  button?.click();
  return button !== null;
}

function show(text: string, tone: string, action: SaveAction | undefined): HTMLElement {
  hideSaveState();
  const notice = element(
    "div",
    { id: ID, class: `save-state notice ${tone}` },
    element("span", {}, text),
  );
  if (action !== undefined)
    notice.append(
      makeButton(action.name, () => {
        hideSaveState();
        action.run();
      }),
    );
  // The user cannot reach elements outside an open dialog.
  (document.querySelector("dialog[open]") ?? document.querySelector("main"))?.append(notice);
  announce(text);
  return notice;
}
