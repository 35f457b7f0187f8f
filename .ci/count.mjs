// Prints "N passed, N failed" for a JSON report of vitest; exits with 1 unless something passed and nothing failed.
import { readFileSync } from 'node:fs'

const file = process.argv[2] ?? 'test-results/report.json'
let passed = 0
let failed = 0
try {
  const report = JSON.parse(readFileSync(file, 'utf8'))
  passed = report.numPassedTests
  failed = report.numFailedTests
  // A file that fails before its tests are known has none to count; an error outside of tests has neither.
  const unread = report.testResults.filter(
    (result) => result.status === 'failed' && result.assertionResults.length === 0,
  )
  failed += unread.length
  for (const { name } of unread) console.error(`could not be run: ${name}`)
  if (report.success === false && failed === 0) failed = 1
} catch (cause) {
  console.error(`${file} cannot be read: ${cause.message}`)
  failed = 1
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
