/** Suggests people whose address or name contains the typed text. @module */
import { element, requestPage } from "../dom.ts";

const PAUSE_MS = 150;
const MIN_CHARS = 2;

export function startPeopleLookup(root: ParentNode = document): void {
  for (const input of root.querySelectorAll<HTMLInputElement>("input[data-people]")) start(input);
}

function start(input: HTMLInputElement): void {
  const list = element("datalist", { id: `${input.id}-people` });
  input.after(list);
  input.setAttribute("list", list.id);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = "";
  const ask = async () => {
    asked = input.value;
    const response = await requestPage(`/console/find?${new URLSearchParams({ q: asked })}`);
    if (asked !== input.value) return;
    const people = response.page.querySelectorAll("[data-found=People] a[data-email]");
    list.replaceChildren(...[...people].map(toOption));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    // Ignores failed requests: the form can be sent without suggestions.
    if (input.value.length >= MIN_CHARS)
      timer = setTimeout(() => void ask().catch(() => undefined), PAUSE_MS);
  });
}

function toOption(link: Element): HTMLOptionElement {
  const email = link.getAttribute("data-email") ?? "";
  const name = link.textContent ?? "";
  return element("option", {
    value: email,
    ...(name === email ? {} : { label: `${name} (${email})` }),
  });
}
