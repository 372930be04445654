// An agent in JavaScript: a table of values for each observation, and now and then a random action.
//
//     omnimeter run --class cups --agent 'command(run="node agent.js")' --agent random
//
// It speaks the wire format (docs/wire.md): one JSON object per line, a reply to each request.
"use strict";

const EPSILON = 0.1; // how often it tries an action at random
const STEP = 0.2; // how much of what is new goes into a value
const DISCOUNT = 0.5; // what the next value counts

let random, actions, values, last;

/** Numbers from 0 to 1 that depend on a seed of 64 bits only (SplitMix64). */
function generator(seed) {
  let state = seed;
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let mixed = state;
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return Number((mixed ^ (mixed >> 31n)) >> 11n) / 2 ** 53;
  };
}

function valuesOf(observation) {
  const key = String(observation);
  if (!values.has(key)) values.set(key, new Array(actions).fill(0));
  return values.get(key);
}

function learn(reward, next) {
  if (last === undefined) return; // nothing was done yet: this reward is for nothing
  const [row, action] = last;
  row[action] += STEP * (reward + DISCOUNT * next - row[action]);
}

function answer(request, text) {
  switch (request.type) {
    case "hello":
      return { type: "hello", wire: 1 };
    case "begin":
      // A seed has more digits than a number of JavaScript keeps, so it is read from the text.
      random = generator(BigInt(text.match(/"seed":(\d+)/)[1]));
      actions = request.briefing.actions;
      values = new Map();
      last = undefined;
      return { type: "ready" };
    case "act": {
      const row = valuesOf(request.observation);
      learn(request.reward, Math.max(...row));
      const best = Math.max(...row);
      const choice = row.flatMap((value, action) => (value === best ? [action] : []));
      const explores = random() < EPSILON;
      const among = explores ? [...row.keys()] : choice;
      const action = among[Math.floor(random() * among.length)];
      last = [row, action];
      return { type: "move", action };
    }
    default:
      return { type: "finished" };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (text) => {
    const request = JSON.parse(text);
    const reply = { turn: request.turn, ...answer(request, text) };
    process.stdout.write(JSON.stringify(reply) + "\n");
  });
