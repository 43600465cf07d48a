/** Notifications and callbacks that did not arrive: on their way, or given up. */
import { useQuery } from "@tanstack/react-query";
import { BellRing, CircleCheck, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";

import { dismiss, outgoing, resend, type Notification } from "@/api/deliveries";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { shortId } from "@/parts/format";
import { Json } from "@/parts/json";
import { Card } from "@/parts/page";
import { Ago } from "@/parts/time";
import { Until } from "@/parts/until";

const AGAIN = 5_000; // milliseconds: a try that failed is no event

export function Outgoing({ parked }: { parked: boolean }) {
  const { data, error, refetch } = useQuery({ ...outgoing(parked), refetchInterval: useEvery(AGAIN) });
  const verb = parked ? "parked" : "waiting";
  return (
    <Card
      title={parked ? say("Given up") : say("On their way")}
      twin={{ command: `taskyard notify ${verb}`, path: `/api/notifications?parked=${parked}` }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.length === 0 && <Nothing parked={parked} />}
      {data !== undefined && data.length > 0 && (
        <ul className="deliveries">
          {data.map((each) => (
            <Row key={each.id} notification={each} parked={parked} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Nothing({ parked }: { parked: boolean }) {
  return parked ? (
    <Empty icon={CircleCheck} title={say("Nothing was given up")}>
      {say(
        "What cannot be delivered is tried for a day, and then waits here for somebody to send it again or let it go.",
      )}
    </Empty>
  ) : (
    <Empty
      icon={BellRing}
      title={say("Nothing is on its way")}
      command="taskyard notify add NAME https://… --on dead_letter"
    />
  );
}

function Row({ notification, parked }: { notification: Notification; parked: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div className="delivery">
        <div className="delivery-what">
          <button type="button" className="delivery-name" aria-expanded={open} onClick={() => setOpen(!open)}>
            {notification.title}
          </button>
          <div className="quiet">
            {notification.notifier === "callback"
              ? say("callback")
              : say("to {notifier}", { notifier: notification.notifier })}
            , <code>{notification.event}</code>
            {notification.task_id !== null && (
              <>
                {" "}
                {say("of {id}", {
                  id: <Link to={`/tasks/${notification.task_id}`}>{shortId(notification.task_id)}</Link>,
                })}
              </>
            )}
            , <Ago at={notification.at} />
          </div>
          {notification.error !== null && <div className="delivery-answer">{notification.error}</div>}
        </div>
        <div className="delivery-state">
          <span className={`badge tone-${parked ? "bad" : notification.tries === 0 ? "info" : "warn"}`}>
            {say("{tries|# try|# tries}", { tries: notification.tries })}
          </span>{" "}
          {!parked && (
            <span className="quiet">{say("next {until}", { until: <Until at={notification.next_at} /> })}</span>
          )}
        </div>
        {parked && (
          <div className="delivery-actions">
            <Again notification={notification} />
            <LetGo notification={notification} />
          </div>
        )}
      </div>
      {open && <Json value={notification} label={say("Notification {id}", { id: notification.id })} />}
    </li>
  );
}

function Again({ notification: { id, title } }: { notification: Notification }) {
  return (
    <Action
      label={say("Send again")}
      icon={RotateCw}
      needs="operate"
      small
      title={say("Send it again")}
      confirm={say("Send it")}
      command={`taskyard notify resend ${quoted(id)}`}
      run={(via) => resend(via, id)}
      done={say("It is on its way again")}
    >
      <p>
        {say("“{title}” is tried at once, under the same id, and again for a day where it does not arrive.", { title })}
      </p>
    </Action>
  );
}

function LetGo({ notification: { id, title } }: { notification: Notification }) {
  return (
    <Action
      label={say("Let go")}
      icon={Trash2}
      needs="operate"
      small
      danger
      title={say("Let it go")}
      command={`taskyard notify dismiss ${quoted(id)}`}
      run={(via) => dismiss(via, id)}
      done={say("It is forgotten")}
    >
      <p>{say("“{title}” is not sent any more, and nobody is told of it.", { title })}</p>
    </Action>
  );
}
