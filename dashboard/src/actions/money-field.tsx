import { useId } from "react";

import { say } from "@/language/say";

interface MoneyFieldProps {
  label: string;
  hint: string;
  value: string; // empty: none
  onChange: (value: string) => void;
}

/** Dollars, kept as the text they were written as: money is never a floating point number. */
export function MoneyField({ label, hint, value, onChange }: MoneyFieldProps) {
  const field = useId();
  return (
    <div className="field">
      <label htmlFor={field}>{label}</label>
      <input
        id={field}
        inputMode="decimal"
        pattern="[0-9]+(\.[0-9]{1,6})?"
        title={say("Dollars, such as 12 or 0.50")}
        autoComplete="off"
        value={value}
        aria-describedby={`${field}-hint`}
        onChange={(event) => onChange(event.target.value.trim())}
      />
      <span className="hint" id={`${field}-hint`}>
        {hint}
      </span>
    </div>
  );
}
