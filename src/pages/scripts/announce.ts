/** Announces results of scripts to screen readers, without interrupting them. @module */

const ID = "announcements";

/** A live region must exist before its first message: call this early, once. */
export function openAnnouncements(): HTMLElement {
  const open = document.getElementById(ID);
  if (open !== null) return open;
  const region = document.createElement("p");
  region.id = ID;
  region.className = "visually-hidden";
  region.setAttribute("role", "status");
  document.body.append(region);
  return region;
}

export function announce(text: string): void {
  const region = openAnnouncements();
  region.textContent = "";
  // A screen reader announces the same message again only after an empty one.
  setTimeout(() => {
    region.textContent = text;
  }, 50);
}
