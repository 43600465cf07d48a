/** A task on the board. */
import { GripVertical } from "lucide-react";
import { memo, type KeyboardEvent, type PointerEvent } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { BoardCard } from "@/api/board";
import { say } from "@/language/say";
import { Money } from "@/parts/money";
import { progressOf, ProgressBar } from "@/parts/progress";
import { StatusMark } from "@/parts/status";
import { Ago, Lasted } from "@/parts/time";

interface CardProps {
  card: BoardCard;
  isMovable: boolean;
  isLifted: boolean;
  onPointerDown: (card: BoardCard, event: PointerEvent<HTMLElement>) => void;
  onKeyDown: (card: BoardCard, event: KeyboardEvent<HTMLElement>) => void;
  onLeave: () => void;
}

export const BoardCardView = memo(function BoardCardView(props: CardProps) {
  const { card, isMovable, isLifted, onPointerDown, onKeyDown, onLeave } = props;
  const { task } = card;
  const progress = progressOf(task.progress);
  const name = nameOf(task);
  return (
    <li
      className={`board-card${isMovable ? " movable" : ""}${isLifted ? " lifted" : ""}`}
      data-task={task.id}
      onPointerDown={(event) => {
        // By touch, a finger on a card scrolls: there the handle moves it.
        if (isMovable && event.pointerType === "mouse" && event.button === 0) onPointerDown(card, event);
      }}
    >
      <div className="board-card-head">
        <StatusMark status={task.status} />
        <Link to={`/tasks/${task.id}`} draggable={false} className="board-card-name">
          {name}
        </Link>
        {isMovable && (
          <button
            type="button"
            className="board-handle"
            aria-label={say("Move {name}", { name })}
            aria-pressed={isLifted}
            title={say("Drag it, or press Enter and the arrows")}
            onPointerDown={(event) => {
              event.stopPropagation();
              onPointerDown(card, event);
            }}
            onKeyDown={(event) => onKeyDown(card, event)}
            onBlur={onLeave}
          >
            <GripVertical aria-hidden />
          </button>
        )}
      </div>
      {progress !== null && (
        <div className="board-progress">
          {progress.fraction !== null && (
            <ProgressBar fraction={progress.fraction} label={say("Progress of {name}", { name })} />
          )}
          {progress.note !== "" && <span className="clip quiet">{progress.note}</span>}
        </div>
      )}
      <div className="board-facts">
        <span className="chip">{task.type}</span>
        {task.agent !== null && <span className="clip">{task.agent}</span>}
        {isMovable && <span title={say("Priority: lower goes first")}>P{task.priority}</span>}
        {task.attempts > 0 && (
          <span className="tone-warn board-failures">{say("{failed} failed", { failed: task.attempts })}</span>
        )}
        <span className="board-age">
          <Age task={task} />
        </span>
        {Number(task.cost_usd) > 0 && <Money usd={task.cost_usd} />}
      </div>
    </li>
  );
});

function Age({ task }: { task: BoardCard["task"] }) {
  if (task.status === "running") return <Lasted from={task.started_at} />;
  if (task.ended_at !== null) return <Ago at={task.ended_at} />;
  return <Ago at={task.status === "retrying" ? task.wake_at : task.created_at} />;
}
