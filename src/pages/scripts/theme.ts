/** The theme that was chosen in this browser, before the page is shown; without a choice the system decides. @module */

const chosen = localStorage.getItem("theme");
if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
