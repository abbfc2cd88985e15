/** Marks invalid JSON in a field while the user types. The server checks it again. @module */
import { element } from "./element.ts";

export function startJsonFields(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLTextAreaElement) || !target.matches("[data-json]")) return;
    const issue = findIssue(target.value);
    target.setCustomValidity(issue);
    showIssue(target, issue);
  });
}

function showIssue(field: HTMLTextAreaElement, issue: string): void {
  const next = field.nextElementSibling;
  const line = next?.matches(".json-issue")
    ? next
    : element("p", { class: "issues json-issue", role: "status" });
  if (line !== next) field.after(line);
  if (line.textContent !== issue) line.textContent = issue;
}

/** The syntax error of a JSON text; empty if it is valid or missing. */
function findIssue(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? `Invalid JSON: ${error.message}` : "Invalid JSON";
  }
}
