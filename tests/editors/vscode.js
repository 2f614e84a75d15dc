// SPDX-License-Identifier: Apache-2.0
// The extension on a stand-in of VS Code: vscode.js FOLDER PROGRAM SERIES TOOL prints what it did as JSON.
'use strict';
const Module = require('module');
const [folder, program, series, tool] = process.argv.slice(2);
const said = {commands: [], panels: [], errors: [], stopped: false}, actions = {};
let editor;

const vscode = {
  workspace: {getConfiguration: () => ({get: (name, otherwise) => ({path: tool, runArguments: ['--seed', '7']}[name] || otherwise)})},
  commands: {registerCommand: (name, f) => { said.commands.push(name); actions[name] = f; return {dispose() {}}; }},
  window: {
    get activeTextEditor() { return editor; },
    showErrorMessage: text => said.errors.push(text),
    createWebviewPanel: (id, title, place, options) => {
      const panel = {title, scripts: options.enableScripts, html: ''};
      said.panels.push(panel);
      return {webview: {set html(text) { panel.html = text; }}};
    },
    withProgress: (options, work) => work(),
  },
  tasks: {executeTask: task => { said.task = [task.execution.process, ...task.execution.args]; }},
  Task: class { constructor(definition, scope, name, source, execution) { this.execution = execution; } },
  ProcessExecution: class { constructor(process, args) { this.process = process; this.args = args; } },
  TaskScope: {Workspace: 2}, ViewColumn: {Beside: -2}, ProgressLocation: {Notification: 15},
};
class LanguageClient {
  constructor(id, name, server, options) {
    said.server = server;
    said.language = options.documentSelector[0].language;
  }
  async start() {}
  async stop() { said.stopped = true; }
}

const load = Module._load;
Module._load = (name, ...rest) => name === 'vscode' ? vscode : name === 'vscode-languageclient/node' ? {LanguageClient} : load(name, ...rest);

(async () => {
  const extension = require(folder + '/extension.js');
  await extension.activate({subscriptions: []});
  await actions['gpmem.run'](); // without a program
  editor = {document: {languageId: 'gpmem', fileName: program, isDirty: false, save: async () => true}};
  await actions['gpmem.run']();
  await actions['gpmem.plot']();
  await actions['gpmem.discover']({fsPath: series});
  await actions['gpmem.restart']();
  said.stopped = false;
  await extension.deactivate();
  console.log(JSON.stringify(said));
})();
