/** How times and numbers are written for who looks, kept in this browser. */
import { Settings2 } from "lucide-react";
import { useId, useState } from "react";

import { Dialog } from "@/parts/dialog";
import { count, dayInWords, money } from "@/parts/format";
import { choose, chosen, nameOfLanguage, usableZone, zones } from "@/parts/locale";

const LANGUAGES = [
  ...["en-US", "en-GB", "de-DE", "de-CH", "fr-FR", "es-ES", "it-IT", "nl-NL", "pl-PL", "pt-BR", "sv-SE", "tr-TR"],
  ...["uk-UA", "hi-IN", "ar-EG", "he-IL", "zh-CN", "ja-JP", "ko-KR"],
];

interface SettingsProps {
  open: boolean;
  onClose: () => void;
}

export function Settings({ open, onClose }: SettingsProps) {
  const [choice, setChoice] = useState(chosen);
  const id = useId();
  const isZone = choice.zone === "" || usableZone(choice.zone) !== undefined;
  return (
    <Dialog
      open={open}
      title="Settings"
      onClose={onClose}
      onSubmit={() => {
        if (!isZone) return;
        choose(choice);
        location.reload();
      }}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            Not now
          </button>
          <button className="button primary" disabled={!isZone}>
            Use these
          </button>
        </>
      }
    >
      <div className="field">
        <label htmlFor={`${id}-zone`}>Time zone</label>
        <input
          id={`${id}-zone`}
          list={`${id}-zones`}
          placeholder="as this browser says"
          value={choice.zone}
          aria-invalid={!isZone}
          aria-describedby={`${id}-zone-hint`}
          onChange={(event) => setChoice({ ...choice, zone: event.target.value.trim() })}
        />
        <datalist id={`${id}-zones`}>
          {zones().map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <span id={`${id}-zone-hint`} className="hint">
          {isZone ? "Empty: that of this browser. Every time on the page is written in it." : "There is no such zone."}
        </span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-language`}>Language of dates and numbers</label>
        <select
          id={`${id}-language`}
          value={choice.language}
          onChange={(event) => setChoice({ ...choice, language: event.target.value })}
        >
          <option value="">as this browser says</option>
          {LANGUAGES.map((each) => (
            <option key={each} value={each}>
              {nameOfLanguage(each)}
            </option>
          ))}
        </select>
        <span className="hint">The words of the page are in English.</span>
      </div>
      <p className="quiet">
        Now: {dayInWords(new Date().toISOString())} · {count(1_234_567)} · {money("1234.5")}
      </p>
    </Dialog>
  );
}

export function SettingsButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button type="button" className="button plain square" aria-label="Settings" title="Settings" onClick={onOpen}>
      <Settings2 aria-hidden />
    </button>
  );
}
