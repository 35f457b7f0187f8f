// Prints each failed test of the JSON reports of vitest that are named, then "N passed, N failed"; exits with 1 unless something passed and
// nothing failed.
import { readFileSync } from 'node:fs'

const MESSAGE_LINES = 12

/** The first lines of a message: those behind them are of its stack. */
function shortened(message) {
  return message.split('\n').slice(0, MESSAGE_LINES).join('\n')
}

let passed = 0
let failed = 0
for (const file of process.argv.slice(2)) {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'))
    passed += report.numPassedTests
    // A file that fails before its tests are known has none to count; an error outside of tests has neither.
    const unread = report.testResults.filter(
      (result) => result.status === 'failed' && result.assertionResults.length === 0,
    )
    for (const { name, message } of unread) console.log(`could not be run: ${name}\n${shortened(message)}`)
    for (const { name, assertionResults } of report.testResults) {
      for (const { status, fullName, failureMessages } of assertionResults) {
        if (status === 'failed') console.log(`failed: ${name}: ${fullName}\n${shortened(failureMessages.join('\n'))}`)
      }
    }
    const here = report.numFailedTests + unread.length
    failed += report.success === false ? Math.max(1, here) : here
  } catch (cause) {
    console.error(`${file} cannot be read: ${cause.message}`)
    failed += 1
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
