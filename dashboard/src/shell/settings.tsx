/** The language of the page, and how times and numbers are written for who looks; kept in this browser. */
import { Settings2 } from "lucide-react";
import { useId, useState } from "react";

import { say } from "@/language/say";
import { Dialog } from "@/parts/dialog";
import { dayInWords, money } from "@/parts/format";
import { choose, chosen, nameOfLanguage, usableZone, WRITTEN, zones } from "@/parts/locale";

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
      title={say("Settings")}
      onClose={onClose}
      onSubmit={() => {
        if (!isZone) return;
        choose(choice);
        location.reload();
      }}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {say("Not now")}
          </button>
          <button className="button primary" disabled={!isZone}>
            {say("Use these")}
          </button>
        </>
      }
    >
      <div className="field">
        <label htmlFor={`${id}-words`}>{say("Language")}</label>
        <select
          id={`${id}-words`}
          value={choice.words}
          onChange={(event) => setChoice({ ...choice, words: event.target.value })}
        >
          <option value="">{say("as this browser says")}</option>
          {WRITTEN.map((each) => (
            <option key={each} value={each} lang={each}>
              {nameOfLanguage(each)}
            </option>
          ))}
        </select>
        <span className="hint">{say("What the server and agents say stays as they said it.")}</span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-zone`}>{say("Time zone")}</label>
        <input
          id={`${id}-zone`}
          list={`${id}-zones`}
          placeholder={say("as this browser says")}
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
          {isZone
            ? say("Empty: that of this browser. Every time on the page is written in it.")
            : say("There is no such zone.")}
        </span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-language`}>{say("Dates and numbers")}</label>
        <select
          id={`${id}-language`}
          value={choice.language}
          onChange={(event) => setChoice({ ...choice, language: event.target.value })}
        >
          <option value="">{say("as in the language")}</option>
          {LANGUAGES.map((each) => (
            <option key={each} value={each}>
              {nameOfLanguage(each)}
            </option>
          ))}
        </select>
      </div>
      <p className="quiet">
        {say("Now: {time} · {number} · {money}", {
          time: dayInWords(new Date().toISOString()),
          number: 1_234_567,
          money: money("1234.5"),
        })}
      </p>
    </Dialog>
  );
}

export function SettingsButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button
      type="button"
      className="button plain square"
      aria-label={say("Settings")}
      title={say("Settings")}
      onClick={onOpen}
    >
      <Settings2 aria-hidden />
    </button>
  );
}
