/** Puts the reader's own address into examples. @module */

export function showOrigin(root: ParentNode = document): void {
  for (const origin of root.querySelectorAll("[data-origin]")) origin.textContent = location.origin;
}
