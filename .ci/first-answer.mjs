// Starts the package that is installed in a folder, as `npx sluice start` does, asks what it prints as first request, and ends it:
// node first-answer.mjs FOLDER. Prints one line: Node, uWebSockets.js, size, seconds to the first streamed bytes.
import { spawn } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const START_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 20_000
const END_TIMEOUT_MS = 30_000

const folder = process.argv[2]
const startedAt = performance.now()
const gateway = spawn('node_modules/.bin/sluice', ['start'], {
  cwd: folder,
  env: { ...process.env, HOST: '127.0.0.1', PORT: '0', SLUICE_FRONTS: '1', LOG_LEVEL: 'error' },
  stdio: ['ignore', 'pipe', 'pipe'],
  detached: true,
})
const signal = (name) => {
  try {
    process.kill(-gateway.pid, name)
  } catch {
    // It has ended.
  }
}
for (const name of ['SIGTERM', 'SIGINT']) {
  process.on(name, () => {
    signal('SIGKILL')
    process.exit(1)
  })
}
const ended = new Promise((resolve) => gateway.on('exit', resolve))

try {
  const [ready, url, authorization, body] = await firstRequest()
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  })
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${await answer.text()}`)
  let seconds = null
  let text = ''
  for await (const chunk of answer.body) {
    seconds ??= ((performance.now() - startedAt) / 1000).toFixed(1)
    text += Buffer.from(chunk).toString()
  }
  if (!text.includes('data: [DONE]')) throw new Error(`the stream has no end: ${text.slice(-200)}`)
  const page = await fetch(new URL('/console', url), { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  if (page.status !== 200) throw new Error(`the console is not in the package: ${page.status}`)
  const megabytes = (bytesOf(join(folder, 'node_modules')) / 1e6).toFixed(0)
  console.log(`answers: ${ready}, ${megabytes} MB installed, ${seconds} s from the start to the first streamed bytes`)
} catch (cause) {
  console.error(cause.message)
  process.exitCode = 1
} finally {
  signal('SIGTERM')
  const late = setTimeout(signal, END_TIMEOUT_MS, 'SIGKILL')
  await ended
  clearTimeout(late)
}

function firstRequest() {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (why) => reject(new Error(`${why}; it said:\n${output}`))
    const timer = setTimeout(fail, START_TIMEOUT_MS, `no first request within ${START_TIMEOUT_MS / 1000} s`)
    const read = (chunk) => {
      output += chunk
      const found = /ready at \S+ \((.+)\)[^]*curl -N (\S+) -H 'Authorization: (Bearer \S+)'[^]*-d '([^']+)'/.exec(
        output,
      )
      if (found === null) return
      clearTimeout(timer)
      resolve(found.slice(1))
    }
    gateway.stdout.on('data', read)
    gateway.stderr.on('data', read)
    gateway.on('error', (cause) => fail(cause.message))
    gateway.on('exit', (code) => fail(`the gateway ended with ${code}`))
  })
}

function bytesOf(path) {
  const found = lstatSync(path)
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}
