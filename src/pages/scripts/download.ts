/** Buttons that save the text of an element as a file. The browser creates the file; no address serves it. @module */

export function startDownloads(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-download]")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button));
  }
}

function save({ dataset }: HTMLButtonElement): void {
  const text = document.getElementById(dataset["download"] ?? "")?.textContent ?? "";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
  link.download = dataset["file"] ?? "";
  link.click();
  URL.revokeObjectURL(link.href);
}
