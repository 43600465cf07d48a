/** What can be done to a schedule and to a trigger alike: paused, resumed, removed. */
import { CirclePause, CirclePlay, Trash2 } from "lucide-react";

import type { Api } from "@/api/client";
import { say } from "@/language/say";
import { Action } from "@/parts/action";

/** How one kind of source is steered, and what that means for it. */
export interface Steering {
  group: "schedules" | "triggers"; // on the command line
  pause: (via: Api, id: string) => Promise<unknown>;
  resume: (via: Api, id: string) => Promise<unknown>;
  remove: (via: Api, id: string) => Promise<unknown>;
  whilePaused: string;
  onceResumed: string;
  resumed: (id: string) => string;
}

interface SourceActionsProps {
  id: string;
  isPaused: boolean;
  steering: Steering;
}

export function SourceActions({ id, isPaused, steering }: SourceActionsProps) {
  return (
    <>
      {isPaused ? (
        <Action
          label={say("Resume")}
          icon={CirclePlay}
          needs="operate"
          small
          title={say("Resume {id}", { id })}
          command={`taskyard ${steering.group} resume ${id}`}
          run={(via) => steering.resume(via, id)}
          done={steering.resumed(id)}
        >
          <p>{steering.onceResumed}</p>
        </Action>
      ) : (
        <Action
          label={say("Pause")}
          icon={CirclePause}
          needs="operate"
          small
          title={say("Pause {id}", { id })}
          command={`taskyard ${steering.group} pause ${id}`}
          run={(via) => steering.pause(via, id)}
          done={say("{id} is paused", { id })}
        >
          <p>{steering.whilePaused}</p>
        </Action>
      )}
      <Action
        label={say("Remove {id}", { id })}
        icon={Trash2}
        needs="operate"
        small
        bare
        danger
        title={say("Remove {id}", { id })}
        confirm={say("Remove")}
        command={`taskyard ${steering.group} rm ${id}`}
        run={(via) => steering.remove(via, id)}
        done={say("{id} is removed", { id })}
      >
        <p>{say("It ends for good. What it has made stays.")}</p>
      </Action>
    </>
  );
}
