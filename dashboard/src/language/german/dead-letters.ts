export const deadLetters = {
  Decisions: "Entscheidungen",
  "Tasks out of attempts. Each waits for a person to decide.":
    "Aufgaben ohne weitere Versuche. Jede wartet darauf, dass ein Mensch entscheidet.",
  Which: "Welche",
  "Next dead letter": "Nächster Dead Letter",
  "Previous dead letter": "Voriger Dead Letter",
  "No dead letter waits": "Kein Dead Letter wartet",
  "A task that fails more often than it may is put here, instead of being lost. The same list from a shell:":
    "Eine Aufgabe, die öfter fehlschlägt als sie darf, kommt hierher, statt verloren zu gehen. Dieselbe Liste in der Shell:",
  "Nothing is escalated": "Nichts ist eskaliert",
  "A letter that is not yours to decide can be handed on, and stays here until somebody does:":
    "Ein Dead Letter, über den Sie nicht entscheiden, kann weitergereicht werden und bleibt hier, bis es jemand tut:",
  "Nothing was decided yet": "Noch wurde nichts entschieden",
  "Who decided what, when and why is kept. The day's decisions as Markdown:":
    "Wer was wann und warum entschieden hat, wird aufbewahrt. Die Entscheidungen des Tages als Markdown:",
  "Died of": "Ursache",
  Decision: "Entscheidung",
  "no error was given": "kein Fehler wurde angegeben",
  "Poison pill": "Poison Pill",
  "died {ago} of {reason}": "gescheitert {ago}: {reason}",
  "A poison pill: it failed under different agents, so another try as it is will hardly do better. Edit it, or give it up.":
    "Eine Poison Pill: Sie ist unter verschiedenen Agenten fehlgeschlagen, ein weiterer Versuch wird kaum besser ausgehen. Ändern Sie sie, oder geben Sie sie auf.",
  "{resolution} by {who} {ago}": "{resolution} von {who} {ago}",
  "Attempts, side by side": "Versuche nebeneinander",
  prompt: "Prompt",
  payload: "Payload",
} as const;
