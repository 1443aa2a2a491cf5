import assert from "node:assert/strict";
import { test } from "node:test";
import { besides, migration, npuify, server, studio, wrongDestination } from "../src/commands";

const OWN = { command: "npuify", python: "" };

void test("the program, or a Python that has it", () => {
  assert.deepEqual(server(OWN), { command: "npuify", args: ["lsp"] });
  assert.deepEqual(server({ command: "x", python: " /venv/bin/python " }), { command: "/venv/bin/python", args: ["-m", "npuify", "lsp"] });
  assert.deepEqual(npuify({ command: " ", python: "" }, "scan"), { command: "npuify", args: ["scan"] });
  assert.deepEqual(studio(OWN, "/a b"), { command: "npuify", args: ["studio", "/a b"] });
});

void test("a migration", () => {
  const wanted = { source: "/a; rm -rf b", destination: "/c", style: "portable", whole: false, force: false } as const;
  assert.deepEqual(migration(OWN, wanted).args, ["migrate", "/a; rm -rf b", "-o", "/c", "--style", "portable"]);
  assert.deepEqual(migration(OWN, { ...wanted, whole: true, force: true }).args.slice(0, 1), ["port"]);
  assert.equal(migration(OWN, { ...wanted, force: true }).args.at(-1), "--force");
});

void test("where the copy may lie", () => {
  assert.equal(besides("/work/project/"), "/work/project_npu");
  assert.equal(wrongDestination("/p", "/p_npu"), undefined);
  assert.match(wrongDestination("/p", " ") ?? "", /Name a folder/);
  assert.match(wrongDestination("/p", "/p/") ?? "", /never changed/);
  assert.match(wrongDestination("C:\\p", "C:\\p\\out") ?? "", /beside/);
});
