/** Announces results of scripts to screen readers, without interrupting them. @module */

const ID = "announcements";

/** A region must be on the page before anything is said in it: call this once, early. */
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
  // The same words twice are a change only if there was none in between.
  setTimeout(() => {
    region.textContent = text;
  }, 50);
}
