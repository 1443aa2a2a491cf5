/** The command lines that the extension starts. Nothing here needs the editor, so that it can be tested without one. */

export interface Settings {
  /** The program, by name or path. */
  readonly command: string;
  /** A Python that has npuify; empty: the program is started by itself. */
  readonly python: string;
}

export interface CommandLine {
  readonly command: string;
  readonly args: string[];
}

/** What the environment of npuify gets in an editor that speaks `language`: it speaks the same, unless it was told otherwise. */
export function environment(language: string, given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const chinese = ["zh", "zh-cn", "zh-hans"].includes(language.toLowerCase());
  return chinese && !given.NPUIFY_LANGUAGE ? { NPUIFY_LANGUAGE: "zh" } : {};
}

export const STYLES = ["npu", "portable", "auto"] as const;
export type Style = (typeof STYLES)[number];

export interface Migration {
  readonly source: string;
  readonly destination: string;
  readonly style: Style;
  /** Also run it: the project's code is started. */
  readonly whole: boolean;
  /** Replace what is in the destination. */
  readonly force: boolean;
}

/** npuify with arguments; no shell reads them. */
export function npuify(settings: Settings, ...args: string[]): CommandLine {
  const python = settings.python.trim();
  return python === "" ? { command: settings.command.trim() || "npuify", args } : { command: python, args: ["-m", "npuify", ...args] };
}

export function server(settings: Settings): CommandLine {
  return npuify(settings, "lsp");
}

export function studio(settings: Settings, folder: string): CommandLine {
  return npuify(settings, "studio", folder);
}

export function migration(settings: Settings, wanted: Migration): CommandLine {
  const args = [wanted.whole ? "port" : "migrate", wanted.source, "-o", wanted.destination, "--style", wanted.style];
  return npuify(settings, ...args, ...(wanted.force ? ["--force"] : []));
}

/** Where the copy of a folder goes, unless another place is named. */
export function besides(folder: string): string {
  return `${folder.replace(/[/\\]+$/, "")}_npu`;
}

/** What is wrong with a destination, as a text of l10n; undefined: nothing. */
export function wrongDestination(source: string, destination: string): string | undefined {
  const plain = (path: string) => path.trim().replace(/[/\\]+$/, "");
  if (plain(destination) === "") return "Name a folder for the migrated copy.";
  if (plain(source) === plain(destination)) return "The project itself is never changed: name another folder.";
  if (plain(destination).startsWith(`${plain(source)}/`) || plain(destination).startsWith(`${plain(source)}\\`)) {
    return "The copy cannot lie in the project: name a folder beside it.";
  }
  return undefined;
}
