// Runs inside a network namespace: `node network-with-one-port.mjs SOCKET PORT COMMAND…` makes the server behind a Unix socket
// reachable at a port of 127.0.0.1, and ends with the command's exit code. Nothing else is reachable.
import { spawn } from 'node:child_process'
import { createServer, connect } from 'node:net'

const [socketPath, port, file, ...args] = process.argv.slice(2)
const server = createServer((client) => {
  const outside = connect(socketPath)
  for (const [from, to] of [
    [client, outside],
    [outside, client],
  ]) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
})
server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(file, args, { stdio: 'inherit' })
  child.on('error', (cause) => {
    console.error(cause.message)
    process.exit(127)
  })
  child.on('close', (code) => process.exit(code ?? 1))
})
