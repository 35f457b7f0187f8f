// Waits until an address answers with 200, for at most so many seconds and while a process lives:
// node wait-for.mjs URL SECONDS PID
const [url, seconds, pid] = process.argv.slice(2)
const until = Date.now() + Number(seconds) * 1000

let last = 'no answer'
while (Date.now() < until) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) })
    if (answer.ok) process.exit(0)
    last = `status ${answer.status}`
  } catch (cause) {
    last = cause.cause?.code ?? cause.name
  }
  try {
    process.kill(Number(pid), 0)
  } catch {
    last = 'the process has ended'
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 250))
}
console.error(`${url}: ${last}`)
process.exit(1)
