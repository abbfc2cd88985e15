/** Buttons that copy the text of an element. If copying is not allowed, they select the text. @module */
import { announce } from "./dom.ts";

const MESSAGE_MS = 2000;

export function startCopyButtons(root: ParentNode = document): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    if (!button.hidden) continue;
    button.hidden = false;
    button.addEventListener("click", () => void copyFor(button));
  }
}

async function copyFor(button: HTMLButtonElement): Promise<void> {
  const source = document.getElementById(button.dataset["copy"] ?? "");
  if (source === null) return;
  const isCopied = await copyText(source.textContent ?? "");
  if (!isCopied) select(source);
  // Without access to the clipboard, the old command copies the selected text.
  if (isCopied || document.execCommand("copy")) show(button, "Copied");
  else announce("Text selected. Copy it with the keyboard.");
}

/** Returns whether the text was copied. Only secure pages have a clipboard, and the user can deny access. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function select(element: HTMLElement): void {
  getSelection()?.selectAllChildren(element);
}

function show(button: HTMLButtonElement, text: string): void {
  announce(text);
  const label = button.querySelector("[data-label]") ?? button;
  const before = button.dataset["before"] ?? label.textContent ?? "";
  button.dataset["before"] = before;
  label.textContent = text;
  setTimeout(() => {
    label.textContent = before;
  }, MESSAGE_MS);
}
