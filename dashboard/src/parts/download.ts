/** Files that the page makes of what it shows: comma-separated values and lines of JSON. */
import { visible } from "./visible";

const FORMULA = /^[=+\-@\t\r]/; // a spreadsheet takes a text that begins so for a formula

/** Rows with a heading. A text stays a text: none is a formula, and none hides what stands beside it. */
export function csvOf(columns: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const seen = visible(value);
  const text = FORMULA.test(seen) ? `'${seen}` : seen;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function jsonLines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

/** Hand a text to the browser as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
