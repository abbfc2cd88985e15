/** One choice of language for all examples of the reference, stored in this browser. @module */

const STORED = "example-language";

export function startLanguages(): void {
  const choices = () => document.querySelectorAll<HTMLInputElement>("input[data-language]");
  const choose = (language: string) => {
    for (const choice of choices()) if (choice.value === language) choice.checked = true;
  };
  const stored = localStorage.getItem(STORED);
  if (stored !== null) choose(stored);
  for (const choice of choices())
    choice.addEventListener("change", () => {
      const top = choice.getBoundingClientRect().top;
      localStorage.setItem(STORED, choice.value);
      choose(choice.value);
      // The new examples have another height: keep the scroll position of the clicked example.
      scrollBy(0, choice.getBoundingClientRect().top - top);
    });
}
