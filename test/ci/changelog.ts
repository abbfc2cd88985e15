/** The notes of a release, from the changelog. Pure. @module */

type Release = {
  version: string;
  /** Accepts the section "Unreleased". */
  isDryRun: boolean;
};

const SECTION = /^## \[(?<name>[^\]]+)\](?: - (?<date>\d{4}-\d{2}-\d{2}))?$/;

/** @throws {Error} the changelog has no dated section of this version, or the section is empty */
export function readNotes(changelog: string, { version, isDryRun }: Release): string {
  const sections = readSections(changelog);
  const released = sections.find(({ name, date }) => name === version && date !== undefined);
  const section = released ?? sections.find(({ name }) => isDryRun && name === "Unreleased");
  if (section === undefined)
    throw new Error(`CHANGELOG.md needs a section "## [${version}] - YYYY-MM-DD"`);
  const isNamed = section === released || section.text.includes(version);
  if (!isNamed)
    throw new Error(`The section "Unreleased" of CHANGELOG.md does not name ${version}`);
  if (section.text === "") throw new Error(`The section ${section.name} of CHANGELOG.md is empty`);
  return `${section.text}\n`;
}

/** Notes outside of the repository: links to its pages lead to the release's revision. `repository` is an address. */
export function linkNotes(notes: string, version: string, repository: string): string {
  return notes.replaceAll(/\]\((?!https?:|#)/g, `](${repository}/blob/v${version}/`);
}

type Section = { name: string; date: string | undefined; text: string };

function readSections(changelog: string): Section[] {
  const [, ...parts] = changelog.split(/^(?=## )/m);
  return parts.map((part) => {
    const end = part.indexOf("\n");
    const { name = "", date } = SECTION.exec(part.slice(0, end))?.groups ?? {};
    return { name, date, text: part.slice(end).trim() };
  });
}
