/** Applies the stored theme before the page is displayed. Defaults to the theme of the system. @module */

const chosen = localStorage.getItem("theme");
if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
