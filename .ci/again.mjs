// Runs the files of a tier that failed once more, and writes what they did then into the report of the tier: `again.mjs short|long`.
// A machine that CI shares with others may be held up for seconds. A test that fails twice has a defect; one that failed once is named as shaky,
// so that its cause can be mended. More than five files, or an error outside of tests, are no matter of luck.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

const MOST_FILES = 5

const tier = process.argv[2]
const path = `test-results/${tier}.json`
const first = JSON.parse(readFileSync(path, 'utf8'))
const errors = JSON.parse(readFileSync(`test-results/${tier}-errors.json`, 'utf8'))
const failed = new Set(first.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name))
for (const message of errors) console.log(`an error outside of tests: ${message}`)
if (errors.length > 0 || failed.size === 0 || failed.size > MOST_FILES) process.exit(1)

for (const { name, assertionResults } of first.testResults) {
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'failed') console.log(`shaky, if it passes now: ${name}: ${fullName}\n${failureMessages[0]}`)
  }
}
const files = [...failed].map((name) => relative(process.cwd(), name))
const report = `test-results/${tier}-again.json`
const mode = tier === 'long' ? ['--mode', 'long'] : []
const { status } = spawnSync('npx', ['vitest', 'run', ...mode, ...files, `--outputFile.json=${report}`], {
  stdio: 'inherit',
})
const second = JSON.parse(readFileSync(report, 'utf8'))
const results = [...first.testResults.filter(({ name }) => !failed.has(name)), ...second.testResults]
const count = (wanted) =>
  results.flatMap(({ assertionResults }) => assertionResults).filter((one) => one.status === wanted).length
const merged = {
  ...first,
  success: second.success,
  numPassedTests: count('passed'),
  numFailedTests: count('failed'),
  testResults: results,
}
writeFileSync(path, JSON.stringify(merged))
process.exit(status ?? 1)
