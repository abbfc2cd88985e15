/** Applies the stored theme before the page is displayed. By default the system decides. @module */

const chosen = localStorage.getItem("theme");
if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
