/** The reader's own address in place of the one in examples. @module */

export function showOrigin(root: ParentNode = document): void {
  for (const origin of root.querySelectorAll("[data-origin]")) origin.textContent = location.origin;
}
