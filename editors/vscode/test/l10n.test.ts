import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { environment } from "../src/commands";

const read = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;

void test("each text of the code is in the Chinese bundle, and no other is", () => {
  const code = readFileSync("src/extension.ts", "utf8");
  const texts = [...code.matchAll(/l10n\.t\(\s*("(?:[^"\\]|\\.)*")/g)].map((found) => JSON.parse(found[1] ?? "") as string);
  texts.push(...[...readFileSync("src/commands.ts", "utf8").matchAll(/return ("[^"]*\.");/g)].map((found) => JSON.parse(found[1] ?? "") as string));
  const bundle = read("l10n/bundle.l10n.zh-cn.json");
  assert.deepEqual([...new Set(texts)].sort(), Object.keys(bundle).sort());
  for (const [english, chinese] of Object.entries(bundle)) {
    assert.match(chinese, /[\u4e00-\u9fff]/);
    assert.deepEqual(chinese.match(/\{\d\}/g)?.sort(), english.match(/\{\d\}/g)?.sort());
  }
});

void test("each text of the manifest is there in both languages", () => {
  const asked = [...readFileSync("package.json", "utf8").matchAll(/%(npuify\.\w+)%/g)].map((found) => found[1] ?? "");
  assert.deepEqual(Object.keys(read("package.nls.json")).sort(), [...asked].sort());
  assert.deepEqual(Object.keys(read("package.nls.zh-cn.json")).sort(), [...asked].sort());
});

void test("npuify speaks as the editor does, unless it was told otherwise", () => {
  assert.deepEqual(environment("zh-cn", {}), { NPUIFY_LANGUAGE: "zh" });
  assert.deepEqual(environment("zh-tw", {}), {});
  assert.deepEqual(environment("en", {}), {});
  assert.deepEqual(environment("zh-cn", { NPUIFY_LANGUAGE: "en" }), {});
});
