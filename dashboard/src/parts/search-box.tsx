import { Search } from "lucide-react";
import { useEffect, useState } from "react";

import "./search-box.css";

const PATIENCE = 250; // milliseconds after the last key until the search is made

interface SearchBoxProps {
  label: string;
  value: string;
  onSearch: (text: string) => void;
}

/** A search that is made when the writing stops. */
export function SearchBox({ label, value, onSearch }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const [before, setBefore] = useState(value);
  if (before !== value) {
    setBefore(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = window.setTimeout(() => onSearch(text), PATIENCE);
    return () => window.clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <div className="search-box">
      <Search aria-hidden />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}
