/** Fields for JSON: what is not JSON is marked before it is sent. The server checks it again. @module */

export function startJsonFields(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLTextAreaElement) || !target.matches("[data-json]")) return;
    target.setCustomValidity(findFault(target.value));
  });
}

/** Why a text is no JSON; empty if it is, or if there is none. */
function findFault(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? `This is no JSON: ${error.message}` : "This is no JSON";
  }
}
