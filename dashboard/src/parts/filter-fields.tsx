/** A row of fields that narrow a page down. What is filled in stands in the page's address. */
import { X } from "lucide-react";
import { useId, useMemo } from "react";
import { useSearchParams } from "react-router";

import { say } from "@/language/say";

import "./filter-fields.css";

export interface FilterFieldWords<Name extends string> {
  name: Name;
  label: string;
  hint: string;
  known?: readonly string[]; // what may be meant
  type?: "text" | "datetime-local";
}

interface AddressFilter<Name extends string> {
  filter: Partial<Record<Name, string>>;
  isNarrow: boolean;
  set: (name: Name, value: string) => void;
  clear: () => void;
}

/** The filter as it stands in the address; what else stands there is left alone. */
export function useAddressFilter<Name extends string>(names: readonly Name[]): AddressFilter<Name> {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const given = names.flatMap((name) => {
      const value = params.get(name);
      return value === null || value === "" ? [] : [[name, value] as const];
    });
    function change(changes: readonly (readonly [Name, string])[]) {
      setParams((before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of changes) {
          after.delete(name);
          if (value !== "") after.set(name, value);
        }
        return after;
      });
    }
    return {
      filter: Object.fromEntries(given) as Partial<Record<Name, string>>,
      isNarrow: given.length > 0,
      set: (name, value) => change([[name, value]]),
      clear: () => change(names.map((name) => [name, ""])),
    };
  }, [names, params, setParams]);
}

interface FilterFieldsProps<Name extends string> {
  fields: readonly FilterFieldWords<Name>[];
  filtering: AddressFilter<Name>;
}

export function FilterFields<Name extends string>({ fields, filtering }: FilterFieldsProps<Name>) {
  const { filter, isNarrow, set, clear } = filtering;
  return (
    <search className="filter-fields">
      {fields.map((words) => (
        <FilterField key={words.name} words={words} value={filter[words.name] ?? ""} onChange={set} />
      ))}
      {isNarrow && (
        <button type="button" className="button plain" onClick={clear}>
          <X aria-hidden /> {say("Clear")}
        </button>
      )}
    </search>
  );
}

interface FilterFieldProps<Name extends string> {
  words: FilterFieldWords<Name>;
  value: string;
  onChange: (name: Name, value: string) => void;
}

/** The address changes when the field is left, or with Enter. */
function FilterField<Name extends string>({ words, value, onChange }: FilterFieldProps<Name>) {
  const field = useId();
  const isTime = words.type === "datetime-local";
  return (
    <div className="field">
      <label htmlFor={field}>{words.label}</label>
      <input
        id={field}
        key={value}
        type={words.type ?? "text"}
        step={isTime ? 1 : undefined}
        defaultValue={isTime ? localTime(value) : value}
        placeholder={words.hint}
        maxLength={255}
        list={words.known === undefined ? undefined : `${field}-known`}
        onKeyDown={(event) => {
          if (event.key === "Enter") event.currentTarget.blur();
        }}
        onBlur={(event) => {
          const given = event.target.value.trim();
          const after = isTime && given !== "" ? new Date(given).toISOString() : given;
          if (after !== value) onChange(words.name, after);
        }}
      />
      {words.known !== undefined && (
        <datalist id={`${field}-known`}>
          {words.known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </div>
  );
}

/** A moment as a field for times wants it: by the reader's clock, without a zone. */
function localTime(iso: string): string {
  const at = new Date(iso);
  if (iso === "" || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
