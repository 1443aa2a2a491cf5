import { stat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, type LanguageClientOptions } from "vscode-languageclient/node";
import { besides, environment, migration, server, studio, wrongDestination, type CommandLine, type Settings, type Style } from "./commands";

/** The kinds of files that npuify knows and editors have a name for, and the rest by their names. */
const DOCUMENTS = [
  ...["python", "shellscript", "yaml", "dockerfile", "pip-requirements", "toml", "makefile", "cmake", "json", "jsonc", "ini", "dotenv"].map(
    (language) => ({ scheme: "file", language }),
  ),
  { scheme: "file", pattern: "**/{requirements*,*.env,*.cfg,*.cu,*.cuh}*" },
  { notebook: "*", language: "python" },
];

const INSTALL = "pip install 'npuify[lsp,studio]'";

let client: LanguageClient | undefined;
/** Starts of the server, one after the other: settings may change while one is being started, and then only the last counts. */
let starting: Promise<void> = Promise.resolve();
let waiting = 0;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const command = (name: string, act: (...args: never[]) => unknown) => {
    context.subscriptions.push(vscode.commands.registerCommand(name, act));
  };
  command("npuify.migrateProject", migrateProject);
  command("npuify.openStudio", openStudio);
  command("npuify.restart", restart);
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (["command", "python", "scanAtStart"].some((name) => event.affectsConfiguration(`npuify.${name}`))) await restart();
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await starting;
  await stop();
}

function settings(): Settings {
  const own = vscode.workspace.getConfiguration("npuify");
  return { command: own.get("command", "npuify"), python: own.get("python", "") };
}

/** npuify speaks the language of the editor. */
function spoken(): Record<string, string> {
  return environment(vscode.env.language, process.env);
}

async function start(): Promise<void> {
  const { command, args } = server(settings());
  const options: LanguageClientOptions = {
    documentSelector: DOCUMENTS,
    initializationOptions: { scan: vscode.workspace.getConfiguration("npuify").get("scanAtStart", true) },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{py,toml,txt,sh,yaml,yml,ipynb}") },
  };
  const made = new LanguageClient("npuify", "npuify", { command, args, options: { env: { ...process.env, ...spoken() } } }, options);
  client = made;
  try {
    await made.start();
  } catch (error) {
    client = undefined;
    if (waiting > 0) return;
    const said = error instanceof Error ? error.message : String(error);
    void tellOfFailure([command, ...args].join(" "), said);
  }
}

async function tellOfFailure(line: string, said: string): Promise<void> {
  const choice = await vscode.window.showErrorMessage(
    vscode.l10n.t("npuify: the language server {0} cannot be started: {1}. It comes with {2}.", line, said, INSTALL),
    vscode.l10n.t("Open settings"),
  );
  if (choice !== undefined) await vscode.commands.executeCommand("workbench.action.openSettings", "npuify");
}

function restart(): Promise<void> {
  waiting += 1;
  starting = starting.then(async () => {
    waiting -= 1;
    await stop();
    if (waiting === 0) await start();
  });
  return starting;
}

async function stop(): Promise<void> {
  const before = client;
  client = undefined;
  try {
    await before?.dispose();
  } catch {
    // It may have died: what matters is the new one.
  }
}

/** The folder that was clicked on, else the one of the workspace, else the one that is chosen. */
async function chosenFolder(clicked: vscode.Uri | undefined): Promise<string | undefined> {
  if (clicked !== undefined) return (await isFolder(clicked.fsPath)) ? clicked.fsPath : dirname(clicked.fsPath);
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length === 1) return folders[0]?.uri.fsPath;
  if (folders.length > 1) return (await vscode.window.showWorkspaceFolderPick())?.uri.fsPath;
  const picked = await vscode.window.showOpenDialog({ canSelectFiles: false, canSelectFolders: true, openLabel: vscode.l10n.t("Migrate") });
  return picked?.[0]?.fsPath;
}

async function migrateProject(clicked?: vscode.Uri): Promise<void> {
  const source = await chosenFolder(clicked);
  if (source === undefined) return;
  const destination = await vscode.window.showInputBox({
    title: vscode.l10n.t("Migrate to Ascend: the folder for the copy"),
    prompt: vscode.l10n.t("The project itself stays as it is."),
    value: besides(source),
    ignoreFocusOut: true,
    validateInput: (value) => {
      const wrong = wrongDestination(source, value);
      return wrong === undefined ? undefined : vscode.l10n.t(wrong);
    },
  });
  if (destination === undefined) return;
  const style = await vscode.window.showQuickPick<vscode.QuickPickItem & { style: Style }>(
    [
      { label: "npu", description: vscode.l10n.t("CUDA names become NPU names"), style: "npu" },
      { label: "portable", description: vscode.l10n.t("one code base for CUDA, NPU and CPU"), style: "portable" },
      { label: "auto", description: vscode.l10n.t("torch_npu's transfer_to_npu, and edits where that does not reach"), style: "auto" },
    ],
    { title: vscode.l10n.t("Migrate to Ascend: how the code shall look"), ignoreFocusOut: true },
  );
  if (style === undefined) return;
  const extent = await vscode.window.showQuickPick(
    [
      { label: vscode.l10n.t("Migrate"), description: vscode.l10n.t("write the copy with its report; nothing is run"), whole: false },
      { label: vscode.l10n.t("The whole way"), description: vscode.l10n.t("also run the project's code in simulation, and compare"), whole: true },
      { label: vscode.l10n.t("Review each edit in the browser"), description: "npuify studio", whole: undefined },
    ],
    { title: vscode.l10n.t("Migrate to Ascend: how far"), ignoreFocusOut: true },
  );
  if (extent === undefined) return;
  if (extent.whole === undefined) {
    await run("studio", studio(settings(), source), source);
    return;
  }
  const force = await isFilled(destination);
  if (force) {
    const answer = await vscode.window.showWarningMessage(vscode.l10n.t("{0} is not empty.", destination), { modal: true }, vscode.l10n.t("Replace it"));
    if (answer === undefined) return;
  }
  const code = await run("migrate", migration(settings(), { source, destination, style: style.style, whole: extent.whole, force }), source);
  if (code === undefined || code > 1 || !(await isFolder(destination))) {
    await vscode.window.showErrorMessage(vscode.l10n.t("npuify: nothing was migrated; the terminal says why."));
    return;
  }
  const told =
    code === 0
      ? vscode.l10n.t("npuify: migrated to {0}; nothing is left to do.", destination)
      : vscode.l10n.t("npuify: migrated to {0}; some places are left to a person.", destination);
  const report = vscode.l10n.t("Open report");
  const folder = vscode.l10n.t("Open folder");
  const next = await vscode.window.showInformationMessage(told, report, folder);
  if (next === report) await vscode.env.openExternal(vscode.Uri.file(join(destination, "npuify-report", "report.html")));
  if (next === folder) await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(destination), { forceNewWindow: true });
}

async function openStudio(clicked?: vscode.Uri): Promise<void> {
  const folder = await chosenFolder(clicked);
  if (folder !== undefined) await run("studio", studio(settings(), folder), folder);
}

/** Run a command line in a terminal; its exit code, undefined where it could not be started. */
async function run(name: string, line: CommandLine, folder: string): Promise<number | undefined> {
  const task = new vscode.Task(
    { type: "npuify", command: name },
    vscode.TaskScope.Workspace,
    name,
    "npuify",
    new vscode.ProcessExecution(line.command, line.args, { cwd: dirname(folder), env: spoken() }),
  );
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated, clear: true };
  const started = await vscode.tasks.executeTask(task);
  return new Promise((resolve) => {
    const ended = vscode.tasks.onDidEndTaskProcess((event) => {
      if (event.execution !== started) return;
      ended.dispose();
      resolve(event.exitCode);
    });
  });
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function isFilled(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length > 0;
  } catch {
    return false;
  }
}
