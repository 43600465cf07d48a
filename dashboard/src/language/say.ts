/**
 * The words of the page. English is the source: a message is its English text, and a catalogue has it in another language.
 *
 * A message names its values, `{name}`, and has a number with its forms, `{tasks|# task|# tasks}`: as many as the language
 * has, in the order of CLDR. What follows ` // ` is for translators, where one English text has two meanings.
 *
 * The catalogue is there before anything that says something is loaded: a message may stand in a constant of a module.
 */
import type { ReactNode } from "react";

import { LANGUAGE, LOCALE } from "@/parts/locale";
import { Fragment, jsxs } from "@/text/jsx-runtime";

import type { german } from "./german/german";

type Message = keyof typeof german;
type Catalogue = Readonly<Record<Message, string>>;

type NumbersOf<M extends string> = M extends `${string}{${infer Inside}}${infer Rest}`
  ? (Inside extends `${infer Name}|${string}` ? Name : never) | NumbersOf<Rest>
  : never;
type NamesOf<M extends string> = M extends `${string}{${infer Inside}}${infer Rest}`
  ? (Inside extends `${string}|${string}` ? never : Inside) | NamesOf<Rest>
  : never;
type ValuesOf<M extends string> = Record<NumbersOf<M>, number> & Record<NamesOf<M>, ReactNode>;
/** A text where every value is one; something to show where a value is an element. */
type Said<V> = [V[keyof V]] extends [string | number] ? string : ReactNode;

const VALUES = /\{(\w+)((?:\|[^{}|]*)*)\}/;
const CATEGORIES: readonly Intl.LDMLPluralRule[] = ["zero", "one", "two", "few", "many", "other"];

const NUMBERS = new Intl.NumberFormat(LOCALE);
const FORMS = new Intl.PluralRules(LANGUAGE);
const KNOWN = FORMS.resolvedOptions().pluralCategories;
const FORM_ORDER = CATEGORIES.filter((each) => KNOWN.includes(each));
const parsed = new Map<string, readonly string[]>();

let spoken: Partial<Catalogue> = {};

/** Say everything in these words from now on; what they lack is said in English. */
export function speak(catalogue: Partial<Catalogue>): void {
  spoken = catalogue;
  parsed.clear();
}

export function say<M extends Message, V extends ValuesOf<M>>(
  message: M,
  ...given: keyof ValuesOf<M> extends never ? [] : [values: V]
): Said<V> {
  const values = (given[0] ?? {}) as Record<string, ReactNode>;
  const said = partsOf(message).map((part, index, parts) => {
    // Three to a value: the text before it, its name, its forms.
    if (index % 3 === 0) return part;
    return index % 3 === 1 ? shown(values[part], parts[index + 1] ?? "") : "";
  });
  const isText = said.every((each) => typeof each === "string");
  return (isText ? said.join("") : jsxs(Fragment, { children: said })) as Said<V>;
}

function partsOf(message: Message): readonly string[] {
  const known = parsed.get(message);
  if (known !== undefined) return known;
  const [text = ""] = (spoken[message] ?? message).split(" // ");
  const parts = text.split(VALUES);
  parsed.set(message, parts);
  return parts;
}

function shown(value: ReactNode, forms: string): ReactNode {
  if (typeof value !== "number") return value;
  const number = NUMBERS.format(value);
  if (forms === "") return number;
  const choices = forms.slice(1).split("|");
  const form = choices[FORM_ORDER.indexOf(FORMS.select(value))] ?? choices.at(-1) ?? "";
  return form.replace("#", number);
}
