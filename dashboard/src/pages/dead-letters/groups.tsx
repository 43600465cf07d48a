/** Dead letters, those that died of the same thing together. */
import { Skull } from "lucide-react";
import { useState } from "react";

import { ResolveLetters } from "@/actions/resolve";
import { nameOf } from "@/actions/subject";
import type { DeadLetter } from "@/api/letters";
import { say } from "@/language/say";

import { Ago } from "@/parts/time";

import { errorOf, reasonOf, type Group } from "./grouping";

const SHOWN = 6; // letters of a group, until somebody wants all

interface GroupsProps {
  groups: readonly Group[];
  chosen: DeadLetter | undefined;
  onChoose: (letter: DeadLetter) => void;
  more?: () => void;
}

export function Groups({ groups, chosen, onChoose, more }: GroupsProps) {
  return (
    <nav className="card letters-groups" aria-label={say("Dead letters")}>
      {groups.map((group) => (
        <GroupOf key={group.name} group={group} chosen={chosen} onChoose={onChoose} />
      ))}
      {more !== undefined && (
        <button type="button" className="button" onClick={more}>
          {say("Show older ones")}
        </button>
      )}
    </nav>
  );
}

function GroupOf({
  group: { letters },
  chosen,
  onChoose,
}: { group: Group } & Pick<GroupsProps, "chosen" | "onChoose">) {
  const [isWhole, setWhole] = useState(false);
  const [newest] = letters;
  if (newest === undefined) return null;
  const isAlone = letters.length === 1;
  const isFurther = letters.indexOf(chosen ?? newest) >= SHOWN; // what is chosen is always in sight
  const shown = isWhole || isFurther ? letters : letters.slice(0, SHOWN);
  return (
    <section className="letters-group">
      <header>
        <div className="letters-kind">
          <span className="chip">{newest.type}</span>
          <strong>{reasonOf(newest)}</strong>
          {!isAlone && (
            <span className="badge tone-bad">{say("{letters|# letter|# letters}", { letters: letters.length })}</span>
          )}
        </div>
        <p className="letters-error mono clip" title={errorOf(newest)}>
          {errorOf(newest) || say("no error was given")}
        </p>
      </header>
      <ul>
        {shown.map((letter) => (
          <li key={letter.id}>
            <button
              type="button"
              className="letters-row"
              aria-current={letter.id === chosen?.id}
              onClick={() => onChoose(letter)}
            >
              {letter.dead?.poison_pill === true && <Skull aria-label={say("Poison pill")} />}
              <span className="clip">{nameOf(letter)}</span>
              <span className="quiet">
                <Ago at={letter.dead?.at} />
              </span>
            </button>
          </li>
        ))}
        {shown.length < letters.length && (
          <li>
            <button type="button" className="letters-row quiet" onClick={() => setWhole(true)}>
              {say("and {more} more", { more: letters.length - shown.length })}
            </button>
          </li>
        )}
      </ul>
      {!isAlone && (
        <div className="letters-all">
          <ResolveLetters letters={letters} small />
        </div>
      )}
    </section>
  );
}
