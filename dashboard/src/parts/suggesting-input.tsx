/** A field that says, while one types, what is there already. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { suggestions, type Suggested } from "@/api/tasks";

interface SuggestingInputProps {
  id?: string;
  field: Suggested;
  value: string;
  placeholder?: string;
  several?: boolean; // words, of which the last is being typed
  onChange?: (value: string) => void; // with every key
  onDone?: (value: string) => void; // when the field is left, or with Enter
}

export function SuggestingInput({ id, field, value, placeholder, several = false, ...on }: SuggestingInputProps) {
  const list = useId();
  const [text, setText] = useState(value);
  const [before, setBefore] = useState(value);
  const [isUsed, setUsed] = useState(false);
  if (before !== value) {
    setBefore(value);
    setText(value);
  }
  const words = several ? text.split(/\s+/) : [text];
  const last = words.at(-1) ?? "";
  const { data } = useQuery({ ...suggestions(field, last), enabled: isUsed });
  const lead = words.slice(0, -1).join(" ");
  return (
    <>
      <input
        id={id}
        value={text}
        placeholder={placeholder}
        list={list}
        autoComplete="off"
        onFocus={() => setUsed(true)}
        onChange={(event) => {
          setText(event.target.value);
          on.onChange?.(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && on.onDone !== undefined) event.currentTarget.blur();
        }}
        onBlur={() => {
          if (text.trim() !== value) on.onDone?.(text.trim());
        }}
      />
      <datalist id={list}>
        {data?.values.map((each) => (
          <option key={each} value={lead === "" ? each : `${lead} ${each}`} />
        ))}
      </datalist>
    </>
  );
}
