import { CircleAlert, CircleCheck, X } from "lucide-react";
import { createContext, use, useCallback, useRef, useState, type ReactNode } from "react";

import { say } from "@/language/say";

interface Toast {
  id: number;
  tone: "good" | "bad";
  words: string;
}

type Tell = (tone: Toast["tone"], words: string) => void;

const SHOWN = 6_000; // milliseconds; what went wrong stays until it is put away

const ToastContext = createContext<Tell>(() => undefined);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const away = useCallback((id: number) => setToasts((shown) => shown.filter((each) => each.id !== id)), []);
  const tell = useCallback<Tell>(
    (tone, words) => {
      const id = next.current++;
      setToasts((shown) => [...shown.slice(-3), { id, tone, words }]);
      if (tone === "good") window.setTimeout(() => away(id), SHOWN);
    },
    [away],
  );
  return (
    <ToastContext value={tell}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={`toast tone-${toast.tone}`}>
            {toast.tone === "good" ? <CircleCheck aria-hidden /> : <CircleAlert aria-hidden />}
            <p>{toast.words}</p>
            <button type="button" className="copy" aria-label={say("Put away")} onClick={() => away(toast.id)}>
              <X aria-hidden />
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}

/** Say how something went. */
export function useToast(): Tell {
  return use(ToastContext);
}
