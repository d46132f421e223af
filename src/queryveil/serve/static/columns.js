// Suggests the column names of a chosen text file in the fields that ask for columns. Nothing is sent.
"use strict";

const DELIMITERS = [",", "\t", ";", "|"];
const BEGINNING = 4096; // bytes

function columnNames(line) {
  if (line.startsWith("{")) {
    try {
      return Object.keys(JSON.parse(line));
    } catch {
      return [];
    }
  }
  const delimiter = DELIMITERS.reduce((best, one) => (line.split(one).length > line.split(best).length ? one : best));
  return line.split(delimiter).map((name) => name.trim().replace(/^"|"$/g, ""));
}

async function suggestColumns(input) {
  const list = document.getElementById(input.dataset.columns);
  list.replaceChildren();
  if (!input.files.length) return;
  const text = await input.files[0].slice(0, BEGINNING).text();
  if (/[\0\uFFFD]/.test(text)) return; // compressed, or Parquet
  for (const name of columnNames(text.split(/\r?\n/, 1)[0]).slice(0, 100)) {
    const option = document.createElement("option");
    option.value = name;
    list.append(option);
  }
}

for (const input of document.querySelectorAll("input[data-columns]")) {
  input.addEventListener("change", () => suggestColumns(input));
}
