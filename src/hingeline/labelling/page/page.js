// The labelling page. Content of the data is only ever set as text, never as HTML.
"use strict";

const KEYS = [..."1234567890qwertyiopadfhjklxcvbnm"]; // of classes, without the letters of commands: g, s, u, z
const COLOURS = 10;
const LONG = 60; // characters of a cell that gets a line of its own
const NUMBER = /^[-+]?[\d.,]+(e[-+]?\d+)?$/i;
const DIGITS = 14; // characters of a number from which on it gets a line of its own on a phone
const SHORT = 6; // characters of the names of classes that need little room
const PAUSE = 120; // milliseconds without a key after which a search begins
const STATUS = { open: "not answered", skipped: "skipped", unsure: "unsure" };
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

let state = null; // as the server sent it
let review = null; // an earlier example that is shown instead of the question
let busy = false; // whether a request is under way: no answer to a question that is not shown yet
let over = false; // whether the program has ended
let found = []; // search results
let loudly = null; // timer of the error message
let typing = null; // timer of the search

// ---- elements -------------------------------------------------------------------------------------------

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  if ("textContent" in properties) made.dir = "auto"; // texts may be written from right to left
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const coloured = (made, place) => {
  made.style.setProperty("--colour", `var(--c${place % COLOURS})`);
  return made;
};

const counted = (number) => number.toLocaleString("en");

// ---- requests -------------------------------------------------------------------------------------------

async function request(address, content) {
  const options = content === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  };
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Error("The program does not answer. All answers given so far are saved. Start it again to go on.");
  }
  const value = await answer.json();
  if (answer.status === 409 && value.turn !== undefined) {
    complain("Another window has answered meanwhile; this is the current question.");
    return { ...value, refused: true };
  }
  if (!answer.ok) throw new Error(value.error);
  return value;
}

async function act(action, more = {}) {
  if (busy || over || !state) return;
  busy = true;
  const was = shown();
  try {
    state = await request("act", { action, turn: state.turn, ...more });
    review = null;
    show();
    if (!state.refused) announce(action, was);
  } catch (error) {
    show();
    complain(error.message);
  } finally {
    busy = false;
  }
}

function announce(action, was) {
  const last = state.last;
  const words = {
    label: last && last.label !== null ? `${last.title}: ${last.label}.` : "",
    skip: `${was?.title} skipped.`,
    unsure: `${was?.title}: unsure.`,
    reopen: `${was?.title} may be asked again.`,
    undo: "Last answer undone.",
    classes: "Classes changed.",
  };
  $("announce").textContent = `${words[action]} ${state.question ? `Now ${state.question.title}.` : ""}`;
}

function complain(message) {
  $("error").textContent = message;
  $("error").hidden = false;
  clearTimeout(loudly);
  loudly = setTimeout(() => { $("error").hidden = true; }, 6000);
}

// ---- the example ----------------------------------------------------------------------------------------

const shown = () => review ?? state?.question ?? null;

function show() {
  document.title = `${counted(state.n_labelled)} · ${state.pool.name}`;
  $("pool").textContent = state.pool.name;
  $("brief").textContent = `${counted(state.n_labelled)} / ${counted(state.pool.n_rows)}`;
  const example = shown();
  const setup = state.classes.length < 2;
  $("setup").hidden = !setup;
  $("example").hidden = $("answers").hidden = setup || !example;
  $("done").hidden = setup || Boolean(example);
  document.querySelector(".side").hidden = setup;
  document.querySelector("main").classList.toggle("alone", setup);
  if (setup) return prepareSetup();
  if (example) showExample(example);
  else showEnd("All examples are answered", "Search for an answer to change it, or finish to save the labels and the model.");
  showNotice();
  showChoices(example);
  showProgress();
  showCurve();
  showBalance();
}

function prepareSetup() {
  $("names").value ||= state.classes.map((known) => known.name).join("\n");
  $("setup-text").textContent = `${state.pool.name} has ${counted(state.pool.n_rows)} examples. One class per line; you can add classes later.`;
  $("names").focus();
}

function showExample(example) {
  $("title").textContent = example.title;
  $("content").replaceChildren(contentOf(example));
  $("content").scrollTop = 0;
  const guess = $("show-guess").checked && example.guess !== null;
  $("guess").hidden = !guess;
  if (guess) $("guess").textContent = `Model: ${state.classes[example.guess].name}`;
}

function contentOf(example) {
  if (example.image !== undefined) return picture(example);
  if (example.text !== undefined) return element("div", { className: "text", textContent: example.text });
  const list = element("dl", { className: "fields" });
  for (const [name, value] of example.fields) {
    const cell = element("dd", { textContent: value === "" ? "–" : value, className: value === "" ? "empty" : "" });
    const isNumber = NUMBER.test(value);
    const isLong = !isNumber && (value.length > LONG || value.includes("\n"));
    const kind = isLong ? "long" : isNumber && value.length > DIGITS ? "number digits" : isNumber ? "number" : "";
    list.append(element("div", { className: kind }, element("dt", { textContent: name }), cell));
  }
  return list;
}

function picture(example) {
  const image = element("img", { className: "picture", src: example.image, alt: example.title });
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth < 128));
  return image;
}

function showNotice() {
  $("notice").hidden = review === null;
  if (review === null) return;
  const status = review.status === "labelled" ? `labelled ${state.classes[review.label]?.name}` :
    STATUS[review.status];
  $("notice-text").textContent = `From the search: ${status}. Choose a class to ${review.status === "labelled" ? "change it" : "label it"}.`;
}

function showEnd(title, ...lines) {
  $("done-title").textContent = title;
  $("done-text").replaceChildren(...lines.map((line) => element("p", { textContent: line })));
}

// ---- answers --------------------------------------------------------------------------------------------

// Keys of the classes. Classes that are called 0, 1, 2 ... have these keys.
function keys() {
  const names = state.classes.map(({ name }) => name.toLowerCase());
  return names.every((name) => KEYS.includes(name)) && new Set(names).size === names.length ? names : KEYS;
}

function showChoices(example) {
  const buttons = state.classes.map(({ name }, place) => {
    const key = keys()[place];
    const button = coloured(element("button", { className: "choice", type: "button" }), place);
    button.append(element("span", { textContent: name, title: name }));
    if (key) {
      button.append(element("kbd", { textContent: key.toUpperCase() }));
      button.setAttribute("aria-keyshortcuts", key);
    }
    button.setAttribute("aria-pressed", String(review !== null && example?.label === place));
    button.addEventListener("click", () => give(place));
    return button;
  });
  const kept = [...$("choices").children].indexOf(document.activeElement); // focus stays on the button of the same class
  $("choices").classList.toggle("many", buttons.length > 8);
  $("choices").classList.toggle("short", state.classes.every(({ name }) => name.length <= SHORT));
  $("choices").replaceChildren(...buttons);
  if (kept >= 0) buttons[kept]?.focus();
  $("undo").disabled = state.last === null;
  $("reopen").hidden = review === null || review.status === "open";
  $("last").textContent = state.last ? lastWords(state.last) : "";
}

const lastWords = (last) => `${last.title}: ${last.label ?? { skip: "skipped", unsure: "unsure", reopen: "asked again" }[last.kind]}`;

function give(place) {
  const example = shown();
  if (!example || place >= state.classes.length) return;
  if (review !== null && review.label === place) return leaveReview();
  $("choices").children[place]?.classList.add("pressed");
  act("label", { row: example.row, class: place });
}

function pass(action) {
  const example = shown();
  if (example) act(action, { row: example.row });
}

function leaveReview() {
  review = null;
  show();
  $("example").focus();
}

// ---- progress -------------------------------------------------------------------------------------------

function showProgress() {
  $("n-labelled").textContent = counted(state.n_labelled);
  const passed = state.n_passed ? ` · ${counted(state.n_passed)} passed` : "";
  $("n-rest").textContent = `of ${counted(state.pool.n_rows)} labelled${passed}`;
  $("progress-bar").style.width = `${(100 * (state.pool.n_rows - state.n_open)) / state.pool.n_rows}%`;
  const { stop, reason } = state.advice;
  $("advice").classList.toggle("stop", stop);
  $("advice").textContent = `${stop ? "You may stop." : "Go on."} ${reason[0].toUpperCase()}${reason.slice(1)}.`;
}

function showCurve() {
  const { n_labelled: counts, guessed, kept } = state.curves;
  const [left, right, top, bottom] = [30, 312, 8, 126];
  const first = counts[0] ?? 0;
  const span = Math.max(1, (counts.at(-1) ?? 0) - first);
  const x = (count) => left + ((right - left) * (count - first)) / span;
  const y = (share) => bottom - (bottom - top) * share;
  const parts = [0, 0.5, 1].flatMap((share) => [
    drawn("line", { class: "grid", x1: left, x2: right, y1: y(share), y2: y(share) }),
    drawn("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, String(100 * share)),
  ]);
  if (counts.length) {
    const line = (values) => values.map((value, k) => `${k ? "L" : "M"}${x(counts[k]).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    parts.push(
      drawn("text", { x: left, y: 144 }, String(first)),
      drawn("text", { x: right, y: 144, "text-anchor": "end" }, `${counted(counts.at(-1))} labels`),
      drawn("path", { class: "line kept", d: line(kept) }),
      drawn("path", { class: "line guessed", d: line(guessed) }),
    );
  }
  $("curve").replaceChildren(...parts);
  $("curve-text").replaceChildren(...(counts.length ? [
    legend("guessed", `${percent(guessed)} of the answers predicted`),
    legend("kept", `${percent(kept)} of the predictions unchanged`),
  ] : [element("span", { textContent: "It begins when two classes are labelled." })]));
}

const percent = (values) => `${Math.round(100 * values.at(-1))} %`;
const legend = (name, text) => element("span", {}, element("i", { className: name }), text);

function showBalance() {
  const most = Math.max(1, ...state.classes.map((known) => known.count));
  $("balance").replaceChildren(...state.classes.map(({ name, count }, place) => {
    const bar = coloured(element("div"), place);
    bar.style.width = `${(100 * count) / most}%`;
    return element("li", {},
      element("span", { className: "name", textContent: name, title: name }),
      element("span", { className: "number", textContent: counted(count) }),
      element("div", { className: "track" }, bar));
  }));
  $("add-class").hidden = state.fixed;
}

// ---- search ---------------------------------------------------------------------------------------------

function openFind() {
  const chosen = $("find-class").value;
  const any = element("option", { value: "", textContent: "Any class" });
  $("find-class").replaceChildren(any, ...state.classes.map(({ name }, place) =>
    element("option", { value: String(place), textContent: name })));
  $("find-class").value = chosen;
  $("find").showModal();
  $("find-text").select();
  find();
}

async function find(start) {
  const query = new URLSearchParams({ text: $("find-text").value, scope: $("find-scope").value, start: start ?? 0 });
  if ($("find-class").value !== "") query.set("class", $("find-class").value);
  const asked = String(query);
  find.asked = asked;
  try {
    const result = await request(`find?${asked}`);
    if (find.asked !== asked) return; // a later search is under way
    found = start ? [...found, ...result.items] : result.items;
    $("find-count").textContent = result.total === 1 ? "1 example" : `${counted(result.total)} examples`;
    $("found").replaceChildren(...found.map(foundItem));
    $("find-more").hidden = found.length >= result.total;
  } catch (error) {
    $("find-count").textContent = error.message;
  }
}

function foundItem(item) {
  const button = element("button", { type: "button" });
  const isPicture = state.pool.kind === "image";
  button.classList.toggle("with-picture", isPicture);
  if (isPicture) button.append(element("img", { src: `image/${item.row}`, alt: "", loading: "lazy" }));
  button.append(
    element("span", { className: "row", textContent: item.title }),
    element("span", { className: "snippet", textContent: item.snippet }));
  const chip = element("span", { className: "chip", textContent: item.label === null ? STATUS[item.status] : state.classes[item.label]?.name ?? "another class" });
  button.append(item.label === null ? chip : coloured(chip, item.label));
  button.addEventListener("click", () => openExample(item.row));
  return element("li", {}, button);
}

async function openExample(row) {
  try {
    review = await request(`example/${row}`);
    $("find").close();
    show();
    $("example").focus();
  } catch (error) {
    complain(error.message);
  }
}

// ---- the end --------------------------------------------------------------------------------------------

async function finish() {
  if (busy) return;
  busy = true;
  try {
    const { written } = await request("finish", {});
    over = true;
    $("finish").close();
    document.querySelector("nav").classList.add("over");
    $("example").hidden = $("answers").hidden = $("notice").hidden = true;
    $("done").hidden = false;
    showEnd("Saved. You can close this window.", ...written);
    $("done").focus();
  } catch (error) {
    complain(error.message);
  } finally {
    busy = false;
  }
}

// ---- keys and clicks ------------------------------------------------------------------------------------

const COMMANDS = {
  u: () => pass("unsure"),
  s: () => pass("skip"),
  z: () => $("undo").disabled || act("undo"),
  Backspace: () => $("undo").disabled || act("undo"),
  g: () => { $("show-guess").click(); },
  "/": openFind,
  "?": () => $("help").showModal(),
  Escape: () => review !== null && leaveReview(),
};

function pressed(event) {
  const isWriting = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (isWriting || over || !state || event.metaKey || event.altKey || event.repeat) return;
  if (event.ctrlKey && event.key !== "z") return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const place = keys().indexOf(key);
  const command = Object.hasOwn(COMMANDS, key) ? COMMANDS[key] : null;
  if (!command && (place < 0 || place >= state.classes.length)) return;
  event.preventDefault();
  if (command) command();
  else give(place);
}

function listen() {
  document.addEventListener("keydown", pressed);
  const click = (id, call) => $(id).addEventListener("click", call);
  click("unsure", () => pass("unsure"));
  click("skip", () => pass("skip"));
  click("reopen", () => pass("reopen"));
  click("undo", () => act("undo"));
  click("notice-close", leaveReview);
  click("open-find", openFind);
  click("open-export", () => $("export").showModal());
  click("open-help", () => $("help").showModal());
  click("open-finish", () => $("finish").showModal());
  click("finish-now", finish);
  click("find-more", () => find(found.length));
  for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog").close());
  $("show-guess").addEventListener("change", () => shown() && showExample(shown()));
  $("find-form").addEventListener("submit", (event) => { event.preventDefault(); find(); });
  for (const id of ["find-text", "find-scope", "find-class"]) {
    $(id).addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(find, PAUSE); });
  }
  $("setup").addEventListener("submit", (event) => {
    event.preventDefault();
    const names = [...new Set($("names").value.split("\n").map((name) => name.trim()).filter(Boolean))];
    if (names.length < 2) complain("Give two names or more, one per line.");
    else act("classes", { names }).then(() => $("example").focus());
  });
  $("add-class").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("new-class").value.trim();
    $("new-class").value = "";
    if (name) act("classes", { names: [name] });
  });
}

async function begin() {
  listen();
  try {
    state = await request("state");
    show();
  } catch (error) {
    complain(error.message);
  }
}

begin();
