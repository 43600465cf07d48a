import type { ReactNode } from "react";

import "./shares.css";

export interface Share {
  name: string;
  label: ReactNode;
  amount: number;
  words: ReactNode; // the amount, as people write it
}

/** Amounts beside each other, each with a bar as long as its part of the largest. */
export function Shares({ shares }: { shares: readonly Share[] }) {
  const largest = Math.max(...shares.map(({ amount }) => amount), Number.MIN_VALUE);
  return (
    <ol className="shares">
      {shares.map(({ name, label, amount, words }) => (
        <li key={name}>
          <span className="clip">{label}</span>
          <span className="number">{words}</span>
          <span className="meter" aria-hidden="true">
            <span style={{ width: `${(amount / largest) * 100}%` }} />
          </span>
        </li>
      ))}
    </ol>
  );
}
