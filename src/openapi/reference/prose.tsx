/** @jsxImportSource #html @jsxRuntime automatic */
/** The text of a description on a page. @module */
import type { Html } from "../../pages/mod.ts";
import { splitJson } from "../../pages/mod.ts";
import { printJson } from "./sample.ts";

/** Text with code between backticks. It cannot change the direction of the surrounding text. */
export function renderProse(text: string): Html {
  const parts = text.split("`");
  return <bdi>{parts.map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</bdi>;
}

/** A value as JSON over several lines, with colored parts. */
export function renderJson(value: unknown): Html {
  const tokens = splitJson(printJson(value, 2));
  return (
    <>
      {tokens.map(({ kind, text }) =>
        kind === undefined || kind === "name" ? text : <span class={`json-${kind}`}>{text}</span>,
      )}
    </>
  );
}
