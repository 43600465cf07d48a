export const board = {
  "Move {name}": "{name} verschieben",
  "Drag it, or press Enter and the arrows": "Ziehen, oder Enter und die Pfeiltasten drücken",
  "Priority: lower goes first": "Priorität: kleinere zuerst",
  "title, prompt or payload": "Titel, Prompt oder Payload",
  "Nothing on the board": "Nichts auf dem Board",
  "What waits, runs and was done in the last 24 hours stands here.":
    "Was wartet, läuft und in den letzten 24 Stunden getan wurde, steht hier.",
  Lanes: "Bahnen",
  "No lanes": "Keine Bahnen",
  "No whole number lies between those of its neighbours: it goes past its equals.":
    "Zwischen den Prioritäten der Nachbarn liegt keine ganze Zahl: Sie überholt die gleich dringenden.",
  "“{task}” has priority {priority}.{why} The same from a shell: {command}":
    "„{task}“ hat Priorität {priority}.{why} Dasselbe in der Shell: {command}",
  "It went back: {error}": "Zurückgesetzt: {error}",
  "{lanes|# lane with fewer tasks is|# lanes with fewer tasks are} left out. Narrow the board down to see them.":
    "{lanes|# Bahn mit weniger Aufgaben ist|# Bahnen mit weniger Aufgaben sind} ausgelassen. Grenzen Sie das Board ein, um sie zu sehen.",
  "{number} more": "{number} weitere",
  "All of them": "Alle",
  "not here": "nicht hier",
  "Next card": "Nächste Karte",
  "Card before": "Vorige Karte",
  "Move the card with the focus: arrows, then Enter": "Die Karte mit dem Fokus verschieben: Pfeiltasten, dann Enter",
  "No priority is more urgent than {limit}: nothing can go before what stands first by it.":
    "Keine Priorität ist dringender als {limit}: Vor das, was damit zuerst steht, kann nichts.",
  "No priority is less urgent than {limit}: nothing can go behind what stands last by it.":
    "Keine Priorität ist weniger dringend als {limit}: Hinter das, was damit zuletzt steht, kann nichts.",
  "A task goes to another column when its state changes: a move only says what comes first.":
    "Eine Aufgabe wechselt die Spalte, wenn sich ihr Zustand ändert: Verschieben sagt nur, was zuerst kommt.",
  "A move cannot give a task to another agent or subject: it only says what comes first.":
    "Verschieben kann eine Aufgabe keinem anderen Agenten oder Bezug geben: Es sagt nur, was zuerst kommt.",
  "Picked up, {to} of {cards}. Arrows move it, Enter puts it down, Escape puts it back.":
    "Aufgenommen, {to} von {cards}. Pfeiltasten verschieben, Enter legt ab, Escape legt zurück.",
  "{to} of {cards}": "{to} von {cards}",
  "Put back.": "Zurückgelegt.",
  "for other tasks, a time, an answer or money": "auf andere Aufgaben, eine Zeit, eine Antwort oder Geld",
  "to be claimed, the first one next": "zu vergeben, die erste als nächste",
  Running: "Läuft",
  "with an agent, the longest first": "bei einem Agenten, die längste zuerst",
  Validating: "In Prüfung",
  "handed in, and judged": "abgegeben und beurteilt",
  "in the last 24 hours": "in den letzten 24 Stunden",
  "out of attempts": "keine Versuche mehr",
  "Any agent": "Jeder Agent",
  "No subject": "Kein Bezug",
  "No type": "Kein Typ",
} as const;
