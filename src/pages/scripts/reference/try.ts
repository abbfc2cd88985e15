/** Forms that send the documented request with the tab's key, and show the response. @module */

import { tryParseJson } from "../../../std/json.ts";
import { indentJson } from "../../../std/json_text.ts";
import { announce, element } from "../dom.ts";
import { escapeTurns, splitJson } from "../forms/inputs.ts";
import { focusKeyField, keyHeaders, readKey } from "./key.ts";

const MAX_VISIBLE_CHARS = 50_000;
const VISIBLE_HEADERS = ["location", "etag", "x-request-id", "retry-after", "idempotency-replayed"];

export function startTrying(): void {
  for (const details of document.querySelectorAll<HTMLDetailsElement>("[data-try]")) {
    if (!details.hidden) continue;
    details.hidden = false;
    const form = details.querySelector("form");
    const output = details.querySelector<HTMLElement>("[data-response]");
    if (form !== null && output !== null)
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        void send(form, output);
      });
  }
}

async function send(form: HTMLFormElement, output: HTMLElement): Promise<void> {
  if (form.dataset["needsKey"] !== undefined && readKey() === undefined) {
    output.replaceChildren(element("p", {}, "Enter an API key at the top of this page first."));
    announce("Enter an API key first");
    focusKeyField();
    return;
  }
  const button = form.querySelector("button");
  if (button?.getAttribute("aria-disabled") === "true") return;
  button?.setAttribute("aria-disabled", "true");
  try {
    const { url, init } = toRequest(form);
    const startedAt = performance.now();
    const response = await fetch(url, init);
    const text = await response.text();
    show(output, response, { text, ms: performance.now() - startedAt });
  } catch {
    output.replaceChildren(element("p", {}, "No response: try again."));
    announce("No response");
  } finally {
    button?.removeAttribute("aria-disabled");
  }
}

type Field = HTMLInputElement | HTMLTextAreaElement;

function toRequest(form: HTMLFormElement): { url: string; init: RequestInit } {
  const fields = [...form.querySelectorAll<Field>("[data-in]")].filter(({ value }) => value !== "");
  const namesIn = (location: string) =>
    fields
      .filter((field) => field.dataset["in"] === location)
      .map((field) => [field.dataset["name"] ?? "", field.value] as const);
  const path = namesIn("path").reduce(
    (created, [name, value]) => created.replace(`{${name}}`, encodeURIComponent(value)),
    form.dataset["path"] ?? "",
  );
  const query = new URLSearchParams(namesIn("query").map(([name, value]) => [name, value]));
  const [body] = namesIn("body");
  const headers = {
    ...Object.fromEntries(namesIn("header")),
    ...(form.dataset["sendsKey"] === undefined ? {} : keyHeaders()),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
  return {
    url: query.size === 0 ? path : `${path}?${query}`,
    init: {
      method: form.dataset["method"] ?? "GET",
      headers,
      credentials: "omit",
      cache: "no-store",
      ...(body === undefined ? {} : { body: body[1] }),
    },
  };
}

type TimedText = { text: string; ms: number };

function show(
  output: HTMLElement,
  { ok, status, headers }: Response,
  { text, ms }: TimedText,
): void {
  const time = `${Math.round(ms)} ms`;
  const lines = VISIBLE_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  const printed = printBody(text);
  const body =
    printed.length > MAX_VISIBLE_CHARS ? `${printed.slice(0, MAX_VISIBLE_CHARS)}\n…` : printed;
  output.replaceChildren(
    element(
      "p",
      { class: "try-status" },
      element("span", { class: ok ? "status status-good" : "status status-bad" }, String(status)),
      ` in ${time}`,
    ),
    element("pre", { class: "try-headers" }, lines.join("\n")),
    ...(body === "" ? [] : [element("pre", { "data-body": "" }, ...highlight(body))]),
  );
  announce(`Response ${status}, ${time}`);
}

function highlight(json: string): (Node | string)[] {
  return splitJson(json).map(({ kind, text }) =>
    kind === undefined || kind === "name" ? text : element("span", { class: `json-${kind}` }, text),
  );
}

/** Indented JSON. Escapes the characters that change the direction of text. */
function printBody(text: string): string {
  return escapeTurns(tryParseJson(text) === undefined ? text : indentJson(text));
}
