export const reports = {
  Reports: "Berichte",
  "What was done, what it cost and how long it took.":
    "Was getan wurde, was es gekostet und wie lange es gedauert hat.",
  "Nothing was measured": "Keine Messwerte",
  "No attempt ended in this time that matches.": "In dieser Zeit endete kein Versuch, der passt.",
  "Stored days": "Gespeicherte Tage",
  Time: "Zeit",
  "Read from": "Gelesen aus",
  "Group by, up to {number}": "Gruppieren nach, bis zu {number}",
  Measures: "Messgrößen",
  "The newest {tasks} tasks that match are counted; there are more. Narrow the time down, or read from stored days.":
    "Die neuesten {tasks} Aufgaben, die passen, sind gezählt; es gibt mehr. Grenzen Sie die Zeit ein, oder lesen Sie aus gespeicherten Tagen.",
  Chart: "Diagramm",
  "Measure that is drawn": "Dargestellte Messgröße",
  "{rows|# row|# rows}": "{rows|# Zeile|# Zeilen}",
  "{rows|# more row is|# more rows are} left out, and in the total.":
    "{rows|# weitere Zeile ist|# weitere Zeilen sind} ausgelassen, aber in der Summe enthalten.",
  "of // heading of a column": "von",
  everything: "alles",
  "In all": "Insgesamt",
  Rows: "Zeilen",
  Duration: "Dauer",
  Wait: "Wartezeit",
  "{measure}, sum": "{measure}, Summe",
  "{measure} by day": "{measure} nach Tag",
};
