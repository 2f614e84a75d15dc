// SPDX-License-Identifier: Apache-2.0
// The language server, and commands that run programs and show their pictures.
'use strict';
const vscode = require('vscode');
const {LanguageClient} = require('vscode-languageclient/node');
const {execFile} = require('child_process');
const fs = require('fs'), os = require('os'), path = require('path');

let client = null;

const settings = () => vscode.workspace.getConfiguration('gpmem');
const tool = () => settings().get('path', 'gpmem');

function call(args, cwd) {
  return new Promise((done, fail) => execFile(tool(), args, {cwd, maxBuffer: 1 << 26}, (error, stdout, stderr) =>
    error ? fail(new Error((stderr || error.message).trim())) : done(stdout)));
}

async function startServer() {
  client = new LanguageClient('gpmem', 'gpmem', {command: tool(), args: ['lsp']}, {documentSelector: [{language: 'gpmem'}]});
  try {
    await client.start();
  } catch (e) {
    vscode.window.showErrorMessage(`gpmem: "${tool()} lsp" does not start (${e.message}). The setting gpmem.path says where the tool is.`);
  }
}

async function stopServer() {
  if (client) await client.stop();
  client = null;
}

// The saved file of the program that is shown; null: there is none.
async function programFile() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== 'gpmem') {
    vscode.window.showErrorMessage('gpmem: open a program first.');
    return null;
  }
  return await editor.document.save() || !editor.document.isDirty ? editor.document.fileName : null;
}

async function run() {
  const file = await programFile();
  if (!file) return;
  const task = new vscode.Task({type: 'gpmem', file}, vscode.TaskScope.Workspace, path.basename(file), 'gpmem',
    new vscode.ProcessExecution(tool(), ['run', ...settings().get('runArguments', []), file], {cwd: path.dirname(file)}));
  await vscode.tasks.executeTask(task);
}

// Pictures are shown as images and reports without scripts of this page: what a program prints is never markup here.
function show(title, body, scripts) {
  const panel = vscode.window.createWebviewPanel('gpmem', title, vscode.ViewColumn.Beside, {enableScripts: scripts, localResourceRoots: []});
  panel.webview.html = body;
}

function progress(title, work) {
  return vscode.window.withProgress({location: vscode.ProgressLocation.Notification, title}, async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpmem-'));
    try {
      await work(folder);
    } catch (e) {
      vscode.window.showErrorMessage('gpmem: ' + e.message);
    } finally {
      fs.rmSync(folder, {recursive: true, force: true});
    }
  });
}

async function plot() {
  const file = await programFile();
  if (!file) return;
  await progress('gpmem: running ' + path.basename(file), async folder => {
    const kept = path.join(folder, 'run'), picture = path.join(folder, 'draws.svg');
    await call(['run', '-q', ...settings().get('runArguments', []), '--out', kept, file], path.dirname(file));
    await call(['plot', kept, '--svg', picture], folder);
    const data = fs.readFileSync(picture).toString('base64');
    show('Draws of ' + path.basename(file), '<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ' +
      'img-src data:; style-src \'unsafe-inline\'"><body style="background:#fff"><img style="max-width:100%" src="data:image/svg+xml;base64,' + data + '">', false);
  });
}

async function discover(uri) {
  const file = uri ? uri.fsPath : vscode.window.activeTextEditor && vscode.window.activeTextEditor.document.fileName;
  if (!file) return;
  await progress('gpmem: looking for structure in ' + path.basename(file), async folder => {
    const report = path.join(folder, 'report.html');
    await call(['discover', '-q', '--html', report, file], path.dirname(file));
    show('Structure of ' + path.basename(file), fs.readFileSync(report, 'utf8'), true);
  });
}

async function restart() {
  await stopServer();
  await startServer();
}

exports.activate = async context => {
  for (const [name, f] of Object.entries({run, plot, discover, restart}))
    context.subscriptions.push(vscode.commands.registerCommand('gpmem.' + name, f));
  await startServer();
};
exports.deactivate = stopServer;
