/** What the sources of the page say, read with TypeScript's own parser: the messages, and texts that are none. For tests. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import ts from "typescript";

export interface Found {
  where: string; // file and line
  text: string;
  node: ts.Node;
}

/** Properties that hold no words, whatever their values look like. */
const NOT_SHOWN = new Set([
  ...["className", "command", "path", "to", "href", "style", "width", "d", "viewBox", "transform", "points", "font"],
  ...[
    "id",
    "key",
    "keys",
    "query",
    "queryKey",
    "accept",
    "autoComplete",
    "role",
    "from",
    "sizes",
    "image",
    "event",
    "look",
  ],
  ...["insetInlineStart", "gridTemplateColumns"],
]);
/** Whoever calls these says nothing to the reader. */
const NOT_SAID = new Set([
  "say",
  "quoted",
  "Error",
  "RegExp",
  "querySelector",
  "querySelectorAll",
  "matches",
  "closest",
]);
/** Names of keys and the like. "It" begins a sentence that the server ends, in English. */
const NAMES = new Set([
  "Escape",
  "Enter",
  "Tab",
  "Home",
  "End",
  "Backspace",
  "Taskyard",
  "Z",
  "UTC",
  "Mac",
  "Ctrl K",
  "It",
  "DAG",
  "JSON",
  "stdout",
  "stderr",
]);
const COMMANDS = /^(taskyard|curl|for task in|\| |["']|cron |( …)? ?--|\(max-width|minmax\()/;

const LETTERS = /\p{L}{2,}/u;
const SEVERAL_WORDS = /[\p{L}\d…][,;:.’”]? +(& )?[“(]?[\p{L}\d…]/u;
const CAPITAL = /^\p{Lu}\p{Ll}+$/u;

/** Every source of the page, without tests and without what was made by a program. */
export function sourcesOf(folder: string): ts.SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|d)\.tsx?$|^language\/|^text\/|^made\//.test(name))
    .sort()
    .map((name) => {
      const kind = name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
      return ts.createSourceFile(name, readFileSync(join(folder, name), "utf8"), ts.ScriptTarget.ES2022, true, kind);
    });
}

/** The messages that are said: the first argument of each call of say. */
export function messagesIn(source: ts.SourceFile): Found[] {
  const found: Found[] = [];
  walk(source, (node) => {
    if (!ts.isCallExpression(node) || nameOfCall(node) !== "say") return;
    for (const text of choicesOf(node.arguments[0])) found.push(place(source, node, text));
  });
  return found;
}

/** Both of a choice: say(isOne ? "…" : "…"). A message that is made at run time is none, and shown as it is written. */
function choicesOf(node: ts.Expression | undefined): string[] {
  if (node === undefined) return [];
  if (ts.isConditionalExpression(node)) return [...choicesOf(node.whenTrue), ...choicesOf(node.whenFalse)];
  if (ts.isParenthesizedExpression(node)) return choicesOf(node.expression);
  return ts.isStringLiteralLike(node) ? [node.text] : [`(made at run time) ${node.getText()}`];
}

/** Texts that a reader would see in English whatever the language is. */
export function literalsIn(source: ts.SourceFile): Found[] {
  const found: Found[] = [];
  walk(source, (node) => {
    if (ts.isJsxText(node)) {
      if (isText(node.text) && !isInCode(node)) found.push(place(source, node, node.text.trim()));
    } else if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const text = wordsOf(node);
      if (isShown(node) ? isText(text) && !isCode(node) : isProse(text) && !isCode(node))
        found.push(place(source, node, text));
    }
  });
  return found;
}

function wordsOf(node: ts.StringLiteralLike | ts.TemplateExpression): string {
  if (!ts.isTemplateExpression(node)) return node.text;
  return node.head.text + node.templateSpans.map((each) => `…${each.literal.text}`).join("");
}

/** Whether there is a word in it: no sign, no path, no example such as `task.ready, issue:42`. */
function isText(text: string): boolean {
  if (COMMANDS.test(text) || NAMES.has(text.trim())) return false;
  return text.split(/\s+/).some((word) => LETTERS.test(word) && !/[\w…][._:*/][\w*…]|_…|^\d|^ms$/.test(word));
}

/** Between <code> and </code>, or <kbd>: what is to be typed is the same in every language. */
function isInCode(node: ts.JsxText): boolean {
  return ts.isJsxElement(node.parent) && /^(code|kbd)$/.test(node.parent.openingElement.tagName.getText());
}

function isProse(text: string): boolean {
  if (!isText(text)) return false;
  return SEVERAL_WORDS.test(text) || (CAPITAL.test(text) && !NAMES.has(text));
}

/** Between two tags, or in a property that is always shown. */
function isShown(node: ts.Node): boolean {
  const parent = node.parent;
  if (ts.isConditionalExpression(parent) && parent.condition !== node) return isShown(parent);
  if (ts.isParenthesizedExpression(parent)) return isShown(parent);
  if (ts.isBinaryExpression(parent) && parent.right === node && isChoice(parent)) return isShown(parent);
  if (ts.isJsxExpression(parent)) return ts.isJsxAttribute(parent.parent) ? isShownName(parent.parent) : true;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node && SHOWN_FACTS.test(parent.name.getText());
  return ts.isJsxAttribute(parent) && isShownName(parent);
}

function isChoice(node: ts.BinaryExpression): boolean {
  const { kind } = node.operatorToken;
  return kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken;
}

const SHOWN =
  /^(aria-(label|description|valuetext|roledescription)|title|alt|placeholder|label|hint|confirm|done|lead)$/;

const SHOWN_FACTS = /^(label|words?|about|confirm|done|explains)$/;

function isShownName(attribute: ts.JsxAttribute): boolean {
  return SHOWN.test(attribute.name.getText());
}

/** Whether somebody has said by where it stands that it is no text of the page. */
function isCode(node: ts.Node): boolean {
  const parent = node.parent;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isLiteralTypeNode(parent)) return true;
  if (ts.isTypeNode(parent) || ts.isCaseClause(parent) || ts.isElementAccessExpression(parent)) return true;
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isJsxElement(at) || ts.isJsxFragment(at) || ts.isFunctionLike(at)) return false;
    if ((ts.isCallExpression(at) || ts.isNewExpression(at)) && NOT_SAID.has(nameOfCall(at))) return true;
    if (ts.isJsxAttribute(at)) return NOT_SHOWN.has(at.name.getText());
    if (ts.isPropertyAssignment(at)) return NOT_SHOWN.has(at.name.getText()) || at.name === node;
    if (ts.isBinaryExpression(at) && (isComparison(at) || at.left.getText() === "this.name")) return true;
  }
  return false;
}

function isComparison(node: ts.BinaryExpression): boolean {
  return /^[!=]==$/.test(node.operatorToken.getText());
}

function nameOfCall(node: ts.CallExpression | ts.NewExpression): string {
  const called = node.expression;
  return ts.isPropertyAccessExpression(called) ? called.name.text : called.getText();
}

function walk(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  node.forEachChild((child) => walk(child, look));
}

function place(source: ts.SourceFile, node: ts.Node, text: string): Found {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return { where: `${relative(".", source.fileName)}:${line + 1}`, text, node };
}
